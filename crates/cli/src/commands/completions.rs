//! `swtch completions` and `swtch man`: what a shell and `man` need, from the command line's own definition.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::output::{self, WrongUsage};
use anyhow::Context;
use clap::{Command, CommandFactory};
use std::fs;
use std::process::ExitCode;

/// Prints the script.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "swtch", &mut script);
    output::print(&String::from_utf8(script)?);
    Ok(ExitCode::SUCCESS)
}

/// Prints one page, or writes all of them.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    // Otherwise every command with commands of its own would get pages for its 'help'.
    let mut command = Cli::command().disable_help_subcommand(true);
    if let Some(folder) = &args.out {
        let at = || format!("cannot write manual pages to {}", folder.display());
        fs::create_dir_all(folder).with_context(at)?;
        clap_mangen::generate_to(command, folder).with_context(at)?;
        return Ok(ExitCode::SUCCESS);
    }
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(find(&command, &args.command)?.clone()).render(&mut page)?;
    output::print(&String::from_utf8(page)?);
    Ok(ExitCode::SUCCESS)
}

/// The command that these words name.
fn find<'a>(top: &'a Command, words: &[String]) -> Result<&'a Command, WrongUsage> {
    words.iter().try_fold(top, |command, word| {
        command.find_subcommand(word).ok_or_else(|| {
            WrongUsage(format!(
                "unknown command '{}': there is no page for it; see swtch --help",
                words.join(" ")
            ))
        })
    })
}
