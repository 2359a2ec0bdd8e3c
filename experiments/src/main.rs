//! `swtch-experiments NAME`: the published tables again.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use swtch_experiments::{EXPERIMENTS, Experiment, Options, Pages, Table, names};

const HELP: &str = "\
Computes published tables again and prints what was published, what comes out here, and the difference.

Usage: swtch-experiments NAME [--json] [--threads N] [--write DIR]

      --json         print JSON
      --threads N    threads for what takes long; figures do not depend on it
      --write DIR    put the tables into the marked blocks of the pages below DIR (docs)
  -h, --help         print this

Examples:
  cargo run --release -p swtch-experiments -- two-apps
  cargo run --release -p swtch-experiments -- all --write docs

Names: all";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Arguments {
    name: Option<String>,
    json: bool,
    threads: Option<usize>,
    write: Option<String>,
    help: bool,
}

fn main() -> ExitCode {
    let (outcome, failure) = match parse(std::env::args().skip(1)) {
        Ok(arguments) => (run(&arguments), 1),
        Err(error) => (Err(error), 2),
    };
    if let Err(error) = outcome {
        complain(&error);
        return ExitCode::from(failure);
    }
    ExitCode::SUCCESS
}

#[allow(clippy::print_stderr)]
fn complain(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

fn parse(mut given: impl Iterator<Item = String>) -> Result<Arguments> {
    let mut arguments = Arguments::default();
    while let Some(argument) = given.next() {
        let mut value = || given.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "-h" | "--help" => arguments.help = true,
            "--json" => arguments.json = true,
            "--threads" => {
                let value = value()?;
                let threads = value.parse().ok().filter(|threads| *threads > 0);
                arguments.threads =
                    Some(threads.with_context(|| format!("--threads {value}: not a number above 0"))?);
            }
            "--write" => arguments.write = Some(value()?),
            option if option.starts_with('-') => bail!("there is no option {option}; see --help"),
            name if arguments.name.is_none() => arguments.name = Some(name.to_owned()),
            extra => bail!("'{extra}' is one name too many"),
        }
    }
    let known =
        |name: &String| name == "all" || EXPERIMENTS.iter().any(|experiment| experiment.name == *name);
    match &arguments.name {
        _ if arguments.help => {}
        None => bail!("which experiment? One of: all, {}", names()),
        Some(name) if !known(name) => bail!("no experiment is called '{name}'; they are: all, {}", names()),
        Some(_) => {}
    }
    Ok(arguments)
}

fn run(arguments: &Arguments) -> Result<()> {
    if arguments.help {
        let names = EXPERIMENTS.map(|Experiment { name, about, .. }| format!("  {name:<12} {about}\n"));
        return print(&format!("{HELP}\n{}", names.concat()));
    }
    let mut options = Options::default();
    options.threads = arguments.threads.unwrap_or(options.threads);
    let wanted = arguments.name.as_deref().unwrap_or("all");
    let results = EXPERIMENTS
        .iter()
        .filter(|experiment| wanted == "all" || experiment.name == wanted)
        .map(|experiment| Ok((experiment.name, (experiment.run)(options)?)))
        .collect::<Result<Vec<_>>>()?;
    if let Some(path) = &arguments.write {
        write(path, &results)
    } else if arguments.json {
        let object: serde_json::Map<_, _> = results
            .iter()
            .map(|(name, tables)| Ok(((*name).to_owned(), serde_json::to_value(tables)?)))
            .collect::<Result<_>>()?;
        print(&(serde_json::to_string_pretty(&object)? + "\n"))
    } else {
        let texts: Vec<String> =
            results.iter().flat_map(|(_, tables)| tables.iter().map(Table::text)).collect();
        print(&texts.join("\n"))
    }
}

/// Prints; a reader that closes the output is not an error.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot print"),
        _ => Ok(()),
    }
}

fn write(path: &str, results: &[(&str, Vec<Table>)]) -> Result<()> {
    Pages::read(Path::new(path))?.update(results)?.write()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn names_and_options_in_any_order() {
        let expected =
            Arguments { name: Some("ring".to_owned()), json: true, threads: Some(3), ..Arguments::default() };
        assert_eq!(parsed("--json ring --threads 3").unwrap(), expected);
        assert_eq!(parsed("ring --threads 3 --json").unwrap(), expected);
        assert!(parsed("ring --write docs").unwrap().write.is_some());
        assert!(parsed("--help").unwrap().help);
    }

    #[test]
    fn wrong_usage_says_what_is_wrong() {
        for (line, part) in [
            ("", "which experiment"),
            ("rings", "no experiment is called 'rings'"),
            ("ring --jason", "no option --jason"),
            ("ring mixes", "one name too many"),
            ("ring --threads", "needs a value"),
            ("ring --threads 0", "not a number above 0"),
            ("ring --write", "needs a value"),
        ] {
            let message = parsed(line).unwrap_err().to_string();
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}
