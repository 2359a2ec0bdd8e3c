//! The words of a text, and what is between them.

/// What is between a word and the one before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Gap {
    /// White space.
    Space,
    /// A comma, or something else that does not end a sentence.
    Comma,
    /// A colon, a semicolon or the border of a table's cell.
    Clause,
    /// The begin of a text or the end of a sentence.
    Sentence,
    /// Code.
    Code,
}

#[derive(Debug)]
pub(super) struct Word {
    /// In lower case.
    pub(super) text: String,
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) gap: Gap,
    /// Whether a question mark comes before the next word.
    pub(super) asks: bool,
}

/// Letters, digits, `_`, and hyphens and apostrophes between them; without the ending of a possessive.
pub(super) fn words(text: &str) -> Vec<Word> {
    let bytes = text.as_bytes();
    let is_letter = |at: usize| {
        bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80 || *byte == b'_')
    };
    let mut found: Vec<Word> = Vec::new();
    let (mut at, mut before) = (0, 0);
    while at < bytes.len() {
        if !is_letter(at) {
            at += 1;
            continue;
        }
        let begin = at;
        while is_letter(at) || (matches!(bytes.get(at), Some(b'-' | b'\'')) && is_letter(at + 1)) {
            at += 1;
        }
        let between = &bytes[before..begin];
        if let Some(last) = found.last_mut() {
            last.asks = between.contains(&b'?');
        }
        let gap = if found.is_empty() { Gap::Sentence } else { gap(between) };
        let word = text[begin..at].to_lowercase();
        let owner = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s"));
        let text = owner.map_or_else(|| word.clone(), str::to_owned);
        found.push(Word { text, begin, end: at, gap, asks: false });
        before = at;
    }
    if let Some(last) = found.last_mut() {
        last.asks = bytes[before..].contains(&b'?');
    }
    found
}

fn gap(between: &[u8]) -> Gap {
    let blank_line = between.split(|byte| *byte == b'\n').count() > 2;
    if blank_line || between.iter().any(|byte| matches!(byte, b'.' | b'?' | b'!')) {
        Gap::Sentence
    } else if between.iter().any(|byte| matches!(byte, b':' | b';' | b'|')) {
        Gap::Clause
    } else if between.contains(&super::prose::MASK) {
        // A sentence that begins after code, such as the first of a comment, begins after white space.
        if between.last() == Some(&super::prose::MASK) { Gap::Code } else { Gap::Sentence }
    } else if between.iter().all(u8::is_ascii_whitespace) {
        Gap::Space
    } else {
        Gap::Comma
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_what_is_before_them() {
        let found = words("Nobody's a\nrun-queue, yes. Why? \u{1} So \u{1}x");
        let shown: Vec<(&str, Gap)> = found.iter().map(|word| (word.text.as_str(), word.gap)).collect();
        let expected = [
            ("nobody", Gap::Sentence),
            ("a", Gap::Space),
            ("run-queue", Gap::Space),
            ("yes", Gap::Comma),
            ("why", Gap::Sentence),
            ("so", Gap::Sentence),
            ("x", Gap::Code),
        ];
        assert_eq!(shown, expected);
        assert!(found[4].asks && !found[3].asks && !found[6].asks);
    }
}
