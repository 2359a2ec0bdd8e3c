//! The list of phrases and names that are not to be written.

use super::Hit;
use super::prose::{Split, Syntax};
use super::words::{Gap, Word, words};
use anyhow::{Context, Result, bail};
use std::collections::HashMap;

/// How many words `...` stands for at most.
const MOST_BETWEEN: usize = 12;

/// One line of the list.
struct Rule {
    pattern: Vec<Part>,
    instead: String,
    why: String,
    /// Whether a page may have it once, to explain the term.
    once: bool,
}

/// One word of a pattern.
enum Part {
    /// One of these, in lower case.
    Any(Vec<String>),
    /// None of these, as the first or the last word; or no word at all.
    Not(Vec<String>),
    /// Any word.
    Word,
    /// The begin of a sentence.
    Begin,
    /// Some words of one sentence.
    Between,
}

/// A hit that is quoted or has another meaning.
struct Allowance {
    path: String,
    found: String,
}

#[derive(Default)]
pub(super) struct Rules {
    phrases: Vec<Rule>,
    /// By the name.
    names: HashMap<String, (String, String)>,
    allowances: Vec<Allowance>,
}

impl Rules {
    /// Lines `text PATTERN => INSTEAD -- WHY`, `term ...`, `name ...` and `allow PATH FOUND -- WHY`; `#` begins a comment.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut found = Self::default();
        for (index, line) in text.lines().enumerate() {
            if !line.trim().is_empty() && !line.starts_with('#') {
                found.add(line).with_context(|| format!("line {}", index + 1))?;
            }
        }
        Ok(found)
    }

    fn add(&mut self, line: &str) -> Result<()> {
        let (line, why) = line.split_once(" -- ").context("there is no reason; expected: ... -- WHY")?;
        let (kind, rest) = line.split_once(' ').context("expected: KIND ... -- WHY")?;
        if kind == "allow" {
            let (path, found) = rest.trim().split_once(' ').context("expected: allow PATH FOUND -- WHY")?;
            self.allowances.push(Allowance { path: path.to_owned(), found: found.trim().to_owned() });
            return Ok(());
        }
        let (pattern, instead) = rest.split_once(" => ").context("expected: PATTERN => INSTEAD")?;
        let (instead, why) = (instead.trim().to_owned(), why.trim().to_owned());
        match kind {
            "name" => {
                let names = pattern.split_whitespace();
                self.names.extend(names.map(|name| (name.to_owned(), (instead.clone(), why.clone()))));
            }
            "text" | "term" => {
                let pattern = pattern.split_whitespace().map(Part::parse).collect();
                self.phrases.push(Rule { pattern, instead, why, once: kind == "term" });
            }
            _ => bail!("'{kind}' is not text, term, name or allow"),
        }
        Ok(())
    }

    /// Everything in one file that breaks a rule, by line.
    pub(super) fn hits(&self, split: &Split, syntax: Syntax) -> Vec<Hit> {
        let mut hits = Vec::new();
        let prose = words(&split.prose);
        for rule in &self.phrases {
            let found = (0..prose.len()).filter_map(|at| Some((at, rule.matches(&prose, at)?)));
            for (from, to) in found.skip(usize::from(rule.once && syntax == Syntax::Markdown)) {
                let text: Vec<&str> = prose[from..to].iter().map(|word| word.text.as_str()).collect();
                hits.push(hit(split, prose[from].begin, text.join(" "), &rule.instead, &rule.why));
            }
        }
        for word in words(&split.code) {
            let name = &split.code[word.begin..word.end];
            if let Some((instead, why)) = self.names.get(name) {
                hits.push(hit(split, word.begin, name.to_owned(), instead, why));
            }
        }
        hits.sort_by_key(|hit| hit.line);
        hits
    }

    pub(super) fn allows(&self, path: &str, found: &str) -> bool {
        self.allowances.iter().any(|one| one.path == path && one.found == found)
    }

    /// A complaint about every `allow` that none of these hits needs.
    pub(super) fn stale<'a>(&self, hits: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
        let hits: Vec<_> = hits.collect();
        let is_needed = |one: &&Allowance| hits.contains(&(one.path.as_str(), one.found.as_str()));
        let stale = self.allowances.iter().filter(|one| !is_needed(one));
        stale
            .map(|one| format!("{} may have '{}', and does not; delete the line", one.path, one.found))
            .collect()
    }
}

fn hit(split: &Split, begin: usize, found: String, instead: &str, why: &str) -> Hit {
    let line = split.prose[..begin].matches('\n').count() + 1;
    Hit { line, found, instead: instead.to_owned(), why: why.to_owned() }
}

impl Part {
    fn parse(text: &str) -> Self {
        let alternatives = |text: &str| text.split('|').map(str::to_lowercase).collect();
        match text {
            "..." => Self::Between,
            "*" => Self::Word,
            "^" => Self::Begin,
            _ => match text.strip_prefix('!') {
                Some(text) => Self::Not(alternatives(text)),
                None => Self::Any(alternatives(text)),
            },
        }
    }
}

impl Rule {
    /// The end of the phrase that begins at a word. What only limits the pattern, `^` and `!`, is before or after it.
    fn matches(&self, words: &[Word], at: usize) -> Option<usize> {
        let mut next = at;
        let mut parts = self.pattern.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Begin => (words[at].gap == Gap::Sentence).then_some(())?,
                Part::Not(others) if next == at => {
                    let before = at.checked_sub(1).filter(|_| words[at].gap == Gap::Space);
                    (!before.is_some_and(|before| others.contains(&words[before].text))).then_some(())?;
                }
                Part::Not(others) => {
                    let after = words.get(next).filter(|word| word.gap == Gap::Space);
                    (!after.is_some_and(|after| others.contains(&after.text))).then_some(())?;
                }
                Part::Any(any) => {
                    let word = words.get(next).filter(|word| next == at || word.gap == Gap::Space)?;
                    any.contains(&word.text).then_some(())?;
                    next += 1;
                }
                Part::Word => {
                    words.get(next).filter(|word| word.gap == Gap::Space)?;
                    next += 1;
                }
                Part::Between => {
                    let Some(Part::Any(any)) = parts.next() else { return None };
                    let rest = words[next..].iter().take(MOST_BETWEEN + 1);
                    let inside = rest.take_while(|word| matches!(word.gap, Gap::Space | Gap::Comma));
                    let place = inside.enumerate().skip(1).find(|(_, word)| any.contains(&word.text))?.0;
                    next += place + 1;
                }
            }
        }
        let is_clause = self.pattern.iter().any(|part| matches!(part, Part::Begin));
        let rest = words[next..].iter().take_while(|word| word.gap != Gap::Sentence);
        let asks = is_clause && words[next - 1..].iter().take(rest.count() + 1).any(|word| word.asks);
        (!asks).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
# A comment.
text is|are told => says -- passive
text !there is|are no !longer => is not -- plain
text ^ what was|is ... is * => a noun -- a clause is not a subject
term control group => cgroup -- the term
name Told told_of => SchedulerMessage -- three meanings
allow a.rs is told -- quoted
";

    fn found(text: &str, syntax: Syntax) -> Vec<(usize, String)> {
        let rules = Rules::parse(LIST).unwrap();
        let hits = rules.hits(&Split::of(text, syntax), syntax);
        hits.into_iter().map(|hit| (hit.line, hit.found)).collect()
    }

    #[test]
    fn phrases_are_found_across_lines_of_a_comment_and_names_in_code_only() {
        let text = "// Who is\n    // told.\nfn f(told: Told) { \"Told are TOLD\", is; told }\n";
        let expected = [(1, "is told"), (3, "are told"), (3, "Told")];
        assert_eq!(found(text, Syntax::Rust), expected.map(|(line, found)| (line, found.to_owned())));
    }

    #[test]
    fn a_word_before_or_after_can_make_a_phrase_fine() {
        assert!(
            found("There is no file. It is no longer. `it is told` Is, told.\n", Syntax::Markdown).is_empty()
        );
        assert_eq!(found("It is no file.\n", Syntax::Markdown), [(1, "is no".to_owned())]);
        assert_eq!(found("Not there. Is no file?\n", Syntax::Markdown).len(), 1);
    }

    #[test]
    fn a_clause_as_subject_is_found_and_a_question_is_not() {
        assert_eq!(
            found("So. What was costly, is here.\n", Syntax::Markdown),
            [(1, "what was costly is here".to_owned())]
        );
        assert!(
            found("What a switch is. And; what is it is so.\nWhat is it, is it so?", Syntax::Markdown)
                .is_empty()
        );
    }

    #[test]
    fn a_page_may_explain_a_term_once_and_a_source_may_not() {
        let text = "A control group.\nThe control group.\n";
        assert_eq!(found(text, Syntax::Markdown), [(2, "control group".to_owned())]);
        assert_eq!(found(&text.replace("A c", "# A c"), Syntax::Script).len(), 1);
    }

    #[test]
    fn an_allowance_is_for_one_place_and_must_be_needed() {
        let rules = Rules::parse(LIST).unwrap();
        assert!(rules.allows("a.rs", "is told") && !rules.allows("b.rs", "is told"));
        assert!(rules.stale([("a.rs", "is told")].into_iter()).is_empty());
        assert_eq!(rules.stale([("b.rs", "is told")].into_iter()).len(), 1);
    }

    #[test]
    fn a_wrong_line_is_named() {
        for wrong in ["text a => b", "text a -- b", "word a => b -- c"] {
            let error = Rules::parse(&format!("# ok\n{wrong}\n")).err().unwrap();
            assert!(format!("{error:#}").starts_with("line 2: "), "{error:#}");
        }
    }
}
