//! Arguments of `swtch explain` and `swtch book`.

use super::JsonArgs;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  swtch explain                      all terms\n  \
    swtch explain run-queue wait       one of them\n  \
    swtch explain c1")]
pub(crate) struct ExplainArgs {
    /// The term; all terms are listed when none is given
    pub(crate) term: Vec<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  swtch book\n  swtch book --print")]
pub(crate) struct BookArgs {
    /// Print where the book is; do not open it
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
