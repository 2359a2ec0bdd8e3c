//! The rule that a compiler writes for make (`-MD`): the files that an object was made of.

use std::path::PathBuf;

/// What the rule is for; only what stands after it counts.
pub(super) const TARGET: &str = "object";

/// The files in a rule. Blanks in names stand behind a backslash, and a dollar sign stands twice.
pub(super) fn files(rule: &str) -> Vec<PathBuf> {
    let text =
        rule.split_once(':').map_or("", |(_, files)| files).replace("\\\r\n", " ").replace("\\\n", " ");
    let mut found = Vec::new();
    let mut name = String::new();
    let mut letters = text.chars().chain(['\n']).peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek().is_some_and(|next| matches!(next, ' ' | '#' | '\\')) => {
                name.extend(letters.next());
            }
            '$' if letters.peek() == Some(&'$') => name.extend(letters.next()),
            letter if letter.is_whitespace() => {
                if !name.is_empty() {
                    found.push(PathBuf::from(std::mem::take(&mut name)));
                }
            }
            letter => name.push(letter),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_blanks() {
        let rule = "object: a.bpf.c \\\n /x/my\\ headers/b.h \\\n  c\\#1.h d$$.h\n";
        let expected = ["a.bpf.c", "/x/my headers/b.h", "c#1.h", "d$.h"];
        assert_eq!(files(rule), expected.map(PathBuf::from));
        assert_eq!(files("object:\n"), Vec::<PathBuf>::new());
    }
}
