//! Plain words: no text that a person reads has a phrase of `xtask/language.txt`, and no identifier a name of it.

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

/// Every hit that no rule's `allow` covers, and every `allow` without a hit.
pub(crate) fn complaints() -> Result<Vec<String>> {
    let rules = rules()?;
    let hits = all_hits(&rules)?;
    let found = || hits.iter().flat_map(|(path, hits)| hits.iter().map(move |hit| (path.as_str(), hit)));
    let mut complaints = rules.stale(found().map(|(path, hit)| (path, hit.found.as_str())));
    let refused = found().filter(|(path, hit)| !rules.allows(path, &hit.found));
    complaints.extend(refused.map(|(path, Hit { line, found, instead, why })| {
        format!("{path}:{line}: \"{found}\": write {instead} ({why})")
    }));
    Ok(complaints)
}

fn rules() -> Result<Rules> {
    Rules::parse(&fs::read_to_string(RULES).with_context(|| format!("cannot read {RULES}"))?)
        .with_context(|| format!("cannot use {RULES}"))
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
