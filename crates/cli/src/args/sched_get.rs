//! Arguments of `swtch sched get`.

use super::JsonArgs;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch sched get --list                            known ones\n  \
    swtch sched get beerland cosmos\n  \
    swtch sched get lavd@1.0.20\n  \
    swtch vm --sched beerland -- hackbench -p -g 1 -l 20\n\n\
    They are built by cargo on this machine, which takes minutes, into $XDG_CACHE_HOME/swtch/schedulers.\n\
    Needs Rust, clang 18 or later, libelf and zlib. Wherever a scheduler's name is taken, NAME is the newest\n\
    version that is there, and NAME@VERSION is that one. They are programs under the GPL of their own.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage.")]
pub(crate) struct GetArgs {
    /// List known schedulers, and the versions of them that were tried
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// Names, without scx_; the newest version where none is given
    #[arg(value_name = "NAME[@VERSION]", required_unless_present = "list")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
