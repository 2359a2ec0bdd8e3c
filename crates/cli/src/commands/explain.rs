//! `swtch explain`: the glossary.

mod terms;

use crate::args::ExplainArgs;
use crate::output::{self, WrongUsage};
use std::process::ExitCode;
pub(crate) use terms::distance;
use terms::{GlossaryEntry, near, terms};

/// Columns of a text for people.
const WIDTH: usize = 80;

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let all = terms();
    if args.term.is_empty() {
        if args.json.asked() {
            output::json(&args.json, &all)?;
        } else {
            let names: Vec<&str> = all.iter().map(|term| term.term).collect();
            output::print(&(names.join("\n") + "\n"));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let word = args.term.join(" ");
    let Some(term) = all.iter().find(|term| term.is_called(&word)) else {
        let near = near(&all, &word);
        let advice = if near.is_empty() {
            "'swtch explain' lists the terms".to_owned()
        } else {
            format!("similar terms: {}; 'swtch explain' lists all terms", near.join(", "))
        };
        return Err(WrongUsage(format!("'{word}' is not a term of the glossary: {advice}")).into());
    };
    if args.json.asked() {
        output::json(&args.json, term)?;
    } else {
        output::print(&text(term));
    }
    Ok(ExitCode::SUCCESS)
}

fn text(term: &GlossaryEntry) -> String {
    let mut lines = vec![term.term.to_owned()];
    if !term.also.is_empty() {
        lines[0] = format!("{} (also: {})", term.term, term.also.join(", "));
    }
    let mut line = String::new();
    for word in term.meaning.split_whitespace() {
        if line.len() + word.len() >= WIDTH {
            lines.push(std::mem::take(&mut line));
        }
        line = format!("{line}{}{word}", if line.is_empty() { "  " } else { " " });
    }
    lines.push(line);
    if !term.see.is_empty() {
        lines.push(format!("  See: {}", term.see.join(", ")));
    }
    lines.push(format!("  Page: docs/{}", term.page));
    lines.join("\n") + "\n"
}
