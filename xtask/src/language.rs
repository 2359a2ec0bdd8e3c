//! Plain words: no text that a person reads has a phrase of `xtask/language.txt`, and no identifier a name of it.
//!
//! Sources in `crates/*/src` have such phrases still. `xtask/language-debt.txt` counts them by file, and the sum of a crate may only fall.

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

/// Every hit that neither a rule's `allow` nor the debt covers, every debt that is too high, and every `allow` without a hit.
pub(crate) fn complaints() -> Result<Vec<String>> {
    let rules = rules()?;
    let hits = all_hits(&rules)?;
    let mut complaints = rules.stale(
        hits.iter().flat_map(|(path, hits)| hits.iter().map(move |hit| (path.as_str(), hit.found.as_str()))),
    );
    complaints.extend(judged(&not_allowed(hits, &rules), &read_debt()?));
    Ok(complaints)
}

/// Lowers the counts of the debt to what is left, part by part. The count of a part never rises.
pub(crate) fn lower_debt() -> Result<()> {
    let rules = rules()?;
    let lowered = lowered(&not_allowed(all_hits(&rules)?, &rules), &read_debt()?);
    let lines: Vec<String> = lowered.iter().map(|(path, count)| format!("{count} {path}\n")).collect();
    fs::write(DEBT, lines.concat()).with_context(|| format!("cannot write {DEBT}"))
}

type Hits = BTreeMap<String, Vec<Hit>>;
/// The number of phrases by file.
type Debt = BTreeMap<String, usize>;

/// A part of the project whose phrases are counted together, so that a text may move from file to file: `crates/vm`.
fn part(path: &str) -> &str {
    path.match_indices('/').nth(1).map_or(path, |(end, _)| &path[..end])
}

fn by_part<'a>(counts: impl Iterator<Item = (&'a String, usize)>) -> BTreeMap<&'a str, usize> {
    let mut sums = BTreeMap::new();
    for (path, count) in counts {
        *sums.entry(part(path)).or_insert(0) += count;
    }
    sums
}

fn counts(hits: &Hits) -> impl Iterator<Item = (&String, usize)> {
    hits.iter().map(|(path, hits)| (path, hits.len()))
}

fn judged(hits: &Hits, debt: &Debt) -> Vec<String> {
    let has = by_part(counts(hits));
    let owed = by_part(debt.iter().map(|(path, count)| (path, *count)));
    let mut complaints = Vec::new();
    for part in has.keys().chain(owed.keys().filter(|part| !has.contains_key(*part))) {
        let (has, owed) = (has.get(part).copied().unwrap_or(0), owed.get(part).copied().unwrap_or(0));
        if has < owed {
            complaints.push(format!(
                "{DEBT} allows {part} {owed} phrases, and it has {has}; `cargo xtask language` lowers the number"
            ));
        } else if has > owed {
            if owed > 0 {
                complaints.push(format!("{part} has {has} phrases of {RULES}, and {DEBT} allows {owed}"));
            }
            let files = hits.iter().filter(|(path, _)| self::part(path) == *part);
            let more = files.filter(|(path, hits)| hits.len() > debt.get(*path).copied().unwrap_or(0));
            complaints.extend(more.flat_map(|(path, hits)| {
                hits.iter().map(move |Hit { line, found, instead, why }| {
                    format!("{path}:{line}: \"{found}\": write {instead} ({why})")
                })
            }));
        }
    }
    complaints
}

fn lowered(hits: &Hits, debt: &Debt) -> Debt {
    let has = by_part(counts(hits));
    let owed = by_part(debt.iter().map(|(path, count)| (path, *count)));
    let fits =
        |path: &str| has.get(part(path)).copied().unwrap_or(0) <= owed.get(part(path)).copied().unwrap_or(0);
    let kept = debt.iter().filter(|(path, _)| !fits(path)).map(|(path, count)| (path.clone(), *count));
    kept.chain(counts(hits).filter(|(path, _)| fits(path)).map(|(path, count)| (path.clone(), count)))
        .collect()
}

fn not_allowed(hits: Hits, rules: &Rules) -> Hits {
    let allowed = hits.into_iter().map(|(path, mut hits)| {
        hits.retain(|hit| !rules.allows(&path, &hit.found));
        (path, hits)
    });
    allowed.filter(|(_, hits)| !hits.is_empty()).collect()
}

fn rules() -> Result<Rules> {
    Rules::parse(&fs::read_to_string(RULES).with_context(|| format!("cannot read {RULES}"))?)
        .with_context(|| format!("cannot use {RULES}"))
}

fn read_debt() -> Result<Debt> {
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
fn all_hits(rules: &Rules) -> Result<Hits> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(counts: &[(&str, usize)]) -> Hits {
        let hit =
            |line| Hit { line, found: "folder".into(), instead: "directory".into(), why: "term".into() };
        counts.iter().map(|(path, count)| ((*path).to_owned(), (1..=*count).map(hit).collect())).collect()
    }

    fn debt(counts: &[(&str, usize)]) -> Debt {
        counts.iter().map(|(path, count)| ((*path).to_owned(), *count)).collect()
    }

    const DEBT: [(&str, usize); 2] = [("crates/a/src/x.rs", 2), ("crates/a/src/y.rs", 1)];

    #[test]
    fn a_phrase_may_move_within_a_crate_and_not_be_added() {
        let moved = hits(&[("crates/a/src/x.rs", 1), ("crates/a/src/z.rs", 2)]);
        assert!(judged(&moved, &debt(&DEBT)).is_empty());
        let more = hits(&[("crates/a/src/x.rs", 2), ("crates/a/src/y.rs", 2)]);
        let found = judged(&more, &debt(&DEBT));
        assert!(found.len() == 3 && found[0].starts_with("crates/a has 4 phrases"), "{found:?}");
        assert!(found[1].starts_with("crates/a/src/y.rs:1: \"folder\": write directory"), "{found:?}");
        assert_eq!(lowered(&more, &debt(&DEBT)), debt(&DEBT), "it never rises");
        assert_eq!(judged(&hits(&[("docs/ai.md", 1)]), &debt(&DEBT)).len(), 2, "no debt, and one too high");
    }

    #[test]
    fn a_count_that_is_too_high_is_a_complaint_until_it_is_lowered() {
        let fewer = hits(&[("crates/a/src/z.rs", 2)]);
        let found = judged(&fewer, &debt(&DEBT));
        assert!(
            found.len() == 1 && found[0].contains("allows crates/a 3 phrases, and it has 2"),
            "{found:?}"
        );
        assert_eq!(lowered(&fewer, &debt(&DEBT)), debt(&[("crates/a/src/z.rs", 2)]));
        assert!(judged(&fewer, &lowered(&fewer, &debt(&DEBT))).is_empty());
    }
}
