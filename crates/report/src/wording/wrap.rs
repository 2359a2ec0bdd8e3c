//! Lines that fit.

/// Columns that a text for a terminal takes at most.
pub const WIDTH: usize = 100;

/// `head` and the text, wrapped to [`WIDTH`] so that all its lines but the first begin in column `indent`. A command in
/// backticks stays on one line if it fits, so that it can be copied. A command that is longer than a line is left whole and
/// sticks out. A space that does not break becomes a plain one.
///
/// ```
/// assert_eq!(swtch_report::terminal::paragraph("  ", "run `sudo a b` now", 4), "  run `sudo a b` now\n");
/// ```
pub fn paragraph(head: &str, text: &str, indent: usize) -> String {
    let blanks = " ".repeat(indent);
    format!("{head}{}\n", wrap(text, WIDTH - indent.min(WIDTH / 2)).join(&format!("\n{blanks}")))
}

/// Lines of at most `width` characters.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(text) {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.into_iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

/// The words of a text, with text in backticks as a part of one word.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c: char| {
        quoted ^= c == '`';
        c.is_ascii_whitespace() && !quoted
    })
    .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_not_broken() {
        assert_eq!(wrap("run `sudo a b c` now", 12), ["run", "`sudo a b c`", "now"]);
        assert_eq!(wrap("`a very long command`, or", 10), ["`a very long command`,", "or"]);
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(wrap("it costs 1.64\u{a0}µs", 12), ["it costs", "1.64 µs"]);
    }

    #[test]
    fn an_odd_backtick_or_an_empty_text_is_harmless() {
        assert_eq!(wrap("a ` b", 80), ["a ` b"]);
        assert_eq!(wrap("", 80), [""]);
    }
}
