//! The commands in `swtch --help`, by what they are for.

use clap::{Command, CommandFactory, FromArgMatches};

/// The groups in the order of the help, and their commands.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["doctor", "measure"]),
    ("Record", &["record", "top", "serve", "dump", "import", "export"]),
    ("Decide", &["why", "diff", "compare", "check", "probe", "try", "report"]),
    ("Simulate", &["simulate", "sweep", "shares"]),
    ("Schedule", &["sched", "vm"]),
    ("Study", &["ai", "faas", "fleet"]),
];
const OTHERS: (&str, &[&str]) = ("Other", &["explain", "book", "schema", "completions", "man", "help"]);

/// A command that the Python package brings as a program `swtch-NAME`.
pub(crate) struct FromPython {
    pub(crate) name: &'static str,
    about: &'static str,
    /// What `pip install` takes.
    pub(crate) requirement: &'static str,
}

pub(crate) const FROM_PYTHON: [FromPython; 3] = [
    FromPython {
        name: "ai",
        about: "AI inference: threads, pinning, switches and waits of models",
        requirement: "'swtch[ai]'",
    },
    FromPython {
        name: "faas",
        about: "Serverless functions: switches and throttling at each memory tier",
        requirement: "swtch",
    },
    FromPython {
        name: "fleet",
        about: "Many machines: which services pay for switches, and what got worse",
        requirement: "'swtch[fleet]'",
    },
];

/// Parses a command line. Its help lists the commands in groups.
pub(crate) fn parse<T: CommandFactory + FromArgMatches>() -> Result<T, clap::Error> {
    T::from_arg_matches(&grouped(T::command()).try_get_matches()?)
}

fn grouped(mut command: Command) -> Command {
    // Without it the command `help` is not there yet.
    command.build();
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut lists = String::new();
    for (group, names) in GROUPS.into_iter().chain([OTHERS]) {
        lists += &format!("{header}{group}:{header:#}\n");
        for name in names {
            let about = about(&command, name).unwrap_or_default();
            lists += &format!("  {literal}{name:<13}{literal:#}{about}\n");
        }
        lists.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{lists}{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

fn about(command: &Command, name: &str) -> Option<String> {
    if let Some(found) = FROM_PYTHON.iter().find(|one| one.name == name) {
        return Some(format!("{} (pip install {})", found.about, found.requirement));
    }
    Some(command.find_subcommand(name)?.get_about()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = Cli::command();
        command.build();
        let listed: Vec<&str> =
            GROUPS.iter().chain([&OTHERS]).flat_map(|(_, names)| names.iter().copied()).collect();
        let mut known: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        known.extend(FROM_PYTHON.iter().map(|one| one.name));
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(listed.len(), known.len());
    }

    #[test]
    fn help_has_the_groups_in_order_and_says_how_to_get_the_others() {
        let help = grouped(Cli::command()).render_help().to_string();
        let places: Vec<usize> =
            GROUPS.iter().map(|(group, _)| help.find(&format!("\n{group}:\n")).unwrap()).collect();
        assert!(places.is_sorted(), "{help}");
        assert!(help.contains("\n  measure      Measure what"), "{help}");
        assert!(help.contains("(pip install 'swtch[ai]')") && help.contains("(pip install swtch)"), "{help}");
        assert!(help.contains("Examples:") && help.contains("--version"), "{help}");
    }
}
