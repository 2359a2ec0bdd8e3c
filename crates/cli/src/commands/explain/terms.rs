//! The glossary: `terms.txt`, one block a term.

use serde::Serialize;

const TEXT: &str = include_str!("terms.txt");

/// A term of the field, or of swtch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct GlossaryEntry {
    /// The term itself.
    pub(crate) term: &'static str,
    /// What it means.
    pub(crate) meaning: &'static str,
    /// Other words for it.
    pub(crate) also: Vec<&'static str>,
    /// Terms that help to understand it.
    pub(crate) see: Vec<&'static str>,
    /// The page of the documentation that uses it, below `docs`.
    pub(crate) page: &'static str,
}

impl GlossaryEntry {
    /// Whether that is this term, or another word for it.
    pub(crate) fn is_called(&self, word: &str) -> bool {
        self.names().any(|name| plain(name) == plain(word))
    }

    /// The term and the other words for it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        std::iter::once(self.term).chain(self.also.iter().copied())
    }
}

/// All terms, in the order of the alphabet.
pub(crate) fn terms() -> Vec<GlossaryEntry> {
    TEXT.trim().split("\n\n").map(term).collect()
}

fn term(block: &'static str) -> GlossaryEntry {
    let mut lines = block.lines();
    let mut next = || lines.next().unwrap_or_default();
    let (term, meaning) = (next(), next());
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let list = |name: &str| field(name).split(", ").filter(|word| !word.is_empty()).collect();
    GlossaryEntry { term, meaning, also: list("also: "), see: list("see: "), page: field("page: ") }
}

/// Names of terms that look like a word, the nearest first.
pub(crate) fn near(terms: &[GlossaryEntry], word: &str) -> Vec<&'static str> {
    let word = plain(word);
    let mut found: Vec<(usize, &'static str)> = terms
        .iter()
        .flat_map(|term| term.names().map(move |name| (name, term.term)))
        .filter_map(|(name, term)| {
            let name = plain(name);
            let part = word.len() >= 3 && (name.contains(&word) || word.contains(&name));
            let steps = if part { 0 } else { distance(&name, &word) };
            (steps <= 1 + word.len() / 4).then_some((steps, term))
        })
        .collect();
    found.sort_unstable();
    let mut names: Vec<&'static str> = Vec::new();
    for (_, name) in found {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(5);
    names
}

/// Lower case, without blanks and hyphens: `Run-queue wait` is `runqueuewait`.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// How many letters must be changed, put in or left out (Levenshtein).
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_term_is_whole_and_refers_to_terms_and_pages_that_exist() {
        let terms = terms();
        assert!(terms.len() > 50);
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for term in &terms {
            assert!(term.meaning.ends_with('.'), "{term:?}");
            assert!(docs.join(term.page).is_file(), "{term:?}");
            for other in &term.see {
                assert!(terms.iter().any(|one| one.term == *other), "{}: no term {other}", term.term);
            }
            for sentence in term.meaning.split_inclusive(". ") {
                assert!(sentence.split_whitespace().count() <= 25, "{}: {sentence}", term.term);
            }
        }
        let names: Vec<String> = terms.iter().map(|term| plain(term.term)).collect();
        assert!(names.is_sorted(), "{names:?}");
        let all: Vec<String> = terms.iter().flat_map(GlossaryEntry::names).map(plain).collect();
        let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(distinct.len(), all.len(), "a name has two meanings");
    }

    #[test]
    fn a_word_that_is_nearly_a_term_finds_it() {
        let terms = terms();
        for (word, expected) in [
            ("preemtion", "preemption"),
            ("runqueue", "run queue"),
            ("wakeups", "wake-up"),
            ("context", "context switch"),
            ("cgrup", "cgroup"),
        ] {
            assert!(near(&terms, word).contains(&expected), "{word}: {:?}", near(&terms, word));
        }
        assert!(near(&terms, "xylophone").is_empty());
    }

    #[test]
    fn distances_are_counted_in_letters() {
        assert_eq!((distance("", "abc"), distance("abc", "abc"), distance("kitten", "sitting")), (3, 0, 3));
    }
}
