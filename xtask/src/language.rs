//! Plain words: no text that a person reads has a phrase of `xtask/language.txt`, and no identifier a name of it.
//!
//! Sources in `crates/*/src` have such phrases still. `xtask/language-debt.txt` counts them by file, and the counts may only fall.

mod prose;
mod rules;
mod words;

use crate::language::prose::{Split, Syntax};
use crate::language::rules::Rules;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

const RULES: &str = "xtask/language.txt";
const DEBT: &str = "xtask/language-debt.txt";
/// Directories and files whose words are data, the law's or quoted.
const SKIPPED: [&str; 8] = [
    "fixtures/",
    "LICENSES/",
    "experiments/data/",
    "experiments/peers/data/",
    "functions/vectors/",
    "xtask/language",
    "xtask/src/language",
    "Cargo.lock",
];

/// A phrase or a name that is not to be written.
#[derive(Debug, PartialEq)]
struct Hit {
    line: usize,
    /// As it is written, in lower case, with single spaces.
    found: String,
    instead: String,
    why: String,
}

/// Every hit that neither a rule's `allow` nor the debt of its file covers, every debt that is too high, and every `allow` without a hit.
pub(crate) fn complaints() -> Result<Vec<String>> {
    let rules = rules()?;
    let hits = all_hits(&rules)?;
    let mut complaints = rules.stale(
        hits.iter().flat_map(|(path, hits)| hits.iter().map(move |hit| (path.as_str(), hit.found.as_str()))),
    );
    let mut debt = read_debt()?;
    for (path, hits) in hits {
        let hits: Vec<Hit> = hits.into_iter().filter(|hit| !rules.allows(&path, &hit.found)).collect();
        let owed = debt.remove(&path).unwrap_or(0);
        if hits.len() < owed {
            complaints.push(too_high(&path, owed, hits.len()));
        } else if hits.len() > owed {
            if owed > 0 {
                complaints
                    .push(format!("{path} has {} phrases of {RULES}, and {DEBT} allows {owed}", hits.len()));
            }
            complaints.extend(hits.into_iter().map(|Hit { line, found, instead, why }| {
                format!("{path}:{line}: \"{found}\": write {instead} ({why})")
            }));
        }
    }
    complaints.extend(debt.iter().map(|(path, owed)| too_high(path, *owed, 0)));
    Ok(complaints)
}

/// Lowers the counts of the debt to what the files have. Counts never rise.
pub(crate) fn lower_debt() -> Result<()> {
    let rules = rules()?;
    let hits = all_hits(&rules)?;
    let mut text = String::new();
    for (path, owed) in read_debt()? {
        let has = hits
            .get(&path)
            .map_or(0, |hits| hits.iter().filter(|hit| !rules.allows(&path, &hit.found)).count());
        if has > 0 {
            text += &format!("{} {path}\n", has.min(owed));
        }
    }
    fs::write(DEBT, text).with_context(|| format!("cannot write {DEBT}"))
}

fn too_high(path: &str, owed: usize, has: usize) -> String {
    format!("{DEBT} allows {path} {owed} phrases, and it has {has}; `cargo xtask language` lowers the number")
}

fn rules() -> Result<Rules> {
    Rules::parse(&fs::read_to_string(RULES).with_context(|| format!("cannot read {RULES}"))?)
        .with_context(|| format!("cannot use {RULES}"))
}

fn read_debt() -> Result<BTreeMap<String, usize>> {
    let text = fs::read_to_string(DEBT).with_context(|| format!("cannot read {DEBT}"))?;
    let entry = |line: &str| {
        let (count, path) = line.split_once(' ')?;
        Some((path.to_owned(), count.parse().ok()?))
    };
    text.lines()
        .map(|line| entry(line).with_context(|| format!("{DEBT}: '{line}' is not COUNT PATH")))
        .collect()
}

/// The hits of every file that git tracks or would track.
fn all_hits(rules: &Rules) -> Result<BTreeMap<String, Vec<Hit>>> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("cannot run git")?;
    if !listed.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let mut found = BTreeMap::new();
    for path in String::from_utf8_lossy(&listed.stdout).lines() {
        let Some(syntax) = Syntax::of(path) else { continue };
        // A file that is deleted and not yet committed is listed too.
        let Ok(text) = fs::read_to_string(path) else { continue };
        if path.contains("/fixtures/") || SKIPPED.iter().any(|skipped| path.starts_with(skipped)) {
            continue;
        }
        let hits = rules.hits(&Split::of(&text, syntax), syntax);
        if !hits.is_empty() {
            found.insert(path.to_owned(), hits);
        }
    }
    Ok(found)
}
