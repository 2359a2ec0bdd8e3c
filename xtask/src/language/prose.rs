//! What of a file is for people, and what is code.

/// How a file's texts are told from its code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Syntax {
    /// Text, with code in backticks.
    Markdown,
    /// All of it is text.
    Plain,
    Rust,
    /// C, Go, Java, JavaScript and style sheets.
    CLike,
    /// Python and TOML.
    Script,
    /// Its strings.
    Json,
}

impl Syntax {
    /// By the file's name; `None` for what has no text to check.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        Some(match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "md" => Self::Markdown,
            "rs" => Self::Rust,
            "c" | "h" | "go" | "java" | "js" | "css" => Self::CLike,
            "py" | "pyi" | "toml" => Self::Script,
            "json" => Self::Json,
            "j2" | "sh" | "yaml" | "yml" | "service" | "txt" => Self::Plain,
            _ if ["Makefile", "Dockerfile", "Containerfile", "setup"].contains(&name) => Self::Plain,
            _ => return None,
        })
    }
}

/// A file twice, each of its own length: its prose with all code masked, and its code with all prose masked. White space stays in both.
#[derive(Debug)]
pub(super) struct Split {
    pub(super) prose: String,
    pub(super) code: String,
}

/// What masks: no pattern goes across it.
pub(super) const MASK: u8 = 1;

impl Split {
    pub(super) fn of(text: &str, syntax: Syntax) -> Self {
        let mut is_prose = match syntax {
            Syntax::Markdown => outside_fences(text),
            Syntax::Plain => vec![Part::Prose; text.len()],
            _ => Lexer { text: text.as_bytes(), syntax, parts: vec![Part::Code; text.len()] }.run(),
        };
        mask_quoted_code(text, &mut is_prose);
        let masked = |keep: Part| {
            let bytes = text.bytes().zip(&is_prose).map(|(byte, part)| match part {
                _ if byte.is_ascii_whitespace() => byte,
                // What marks a comment is between the words of a sentence.
                Part::Marker => b' ',
                part if *part == keep => byte,
                _ => MASK,
            });
            String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
        };
        Self { prose: masked(Part::Prose), code: masked(Part::Code) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Code,
    Prose,
    /// `//` and the like.
    Marker,
    /// Code inside of prose: neither is looked for in it.
    Quoted,
}

/// A page without its blocks between fences.
fn outside_fences(text: &str) -> Vec<Part> {
    let mut parts = Vec::with_capacity(text.len());
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        parts.resize(parts.len() + line.len(), if inside || is_fence { Part::Quoted } else { Part::Prose });
        inside ^= is_fence;
    }
    parts
}

/// Code in backticks on one line, and where links lead.
fn mask_quoted_code(text: &str, parts: &mut [Part]) {
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        for (open, close) in [('`', "`"), ('(', ")")] {
            let mut at = 0;
            while let Some(place) = line[at..].find(open).map(|place| at + place) {
                at = place + 1;
                let is_link = open == '`' || line[..place].ends_with(']');
                let Some(length) = line[at..].find(close).filter(|_| is_link) else { continue };
                for part in &mut parts[begin + at..begin + at + length] {
                    if *part == Part::Prose {
                        *part = Part::Quoted;
                    }
                }
                at += length + 1;
            }
        }
        begin += line.len();
    }
}

/// Finds comments and strings.
struct Lexer<'a> {
    text: &'a [u8],
    syntax: Syntax,
    parts: Vec<Part>,
}

impl Lexer<'_> {
    fn run(mut self) -> Vec<Part> {
        let mut at = 0;
        while at < self.text.len() {
            at = self.comment(at).or_else(|| self.string(at)).unwrap_or(at + 1);
        }
        self.parts
    }

    fn starts(&self, at: usize, what: &str) -> bool {
        self.text[at..].starts_with(what.as_bytes())
    }

    /// Where `what` begins next, or the end of the text.
    fn find(&self, from: usize, what: &str) -> usize {
        (from..self.text.len()).find(|at| self.starts(*at, what)).unwrap_or(self.text.len())
    }

    fn mark(&mut self, from: usize, to: usize, part: Part) {
        let to = to.min(self.text.len());
        self.parts[from.min(to)..to].fill(part);
    }

    /// The end of the comment that begins here.
    fn comment(&mut self, at: usize) -> Option<usize> {
        let (open, close) = match self.syntax {
            Syntax::Script if self.starts(at, "#") => ("#", "\n"),
            Syntax::Rust | Syntax::CLike if self.starts(at, "//") => ("//", "\n"),
            Syntax::Rust | Syntax::CLike if self.starts(at, "/*") => ("/*", "*/"),
            _ => return None,
        };
        let end = self.find(at + open.len(), close);
        let text = (at + open.len()..end)
            .find(|place| !matches!(self.text[*place], b'/' | b'!' | b'*' | b'#'))
            .unwrap_or(end);
        self.mark(at, text, Part::Marker);
        self.mark(text, end, Part::Prose);
        if close == "*/" {
            self.stars(text, end);
        }
        // The end of a line stays white space.
        Some(if close == "\n" { end } else { end + close.len() })
    }

    /// The stars that begin the lines of a long comment.
    fn stars(&mut self, from: usize, to: usize) {
        for at in from..to {
            let line = self.text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            if self.text[at] == b'*' && self.text[line..at].iter().all(u8::is_ascii_whitespace) {
                self.parts[at] = Part::Marker;
            }
        }
    }

    /// The end of the string that begins here.
    fn string(&mut self, at: usize) -> Option<usize> {
        let quotes: &[&str] = match self.syntax {
            Syntax::Script => &["\"\"\"", "'''", "\"", "'"],
            Syntax::CLike => &["\"\"\"", "\"", "'", "`"],
            _ => &["\""],
        };
        if self.syntax == Syntax::Rust {
            if let Some(end) = self.raw_string(at) {
                return Some(end);
            }
            // '"' is a character and not the begin of a string.
            if self.starts(at, "'\"'") {
                return Some(at + 3);
            }
            if self.starts(at, "'\\") {
                return Some(self.find(at + 3, "'") + 1);
            }
        }
        let quote = quotes.iter().find(|quote| self.starts(at, quote))?;
        let spans_lines = quote.len() == 3 || *quote == "`" || self.syntax == Syntax::Rust;
        let begin = at + quote.len();
        let mut end = begin;
        while end < self.text.len() && !self.starts(end, quote) && (spans_lines || self.text[end] != b'\n') {
            end += if self.text[end] == b'\\' { 2 } else { 1 };
        }
        self.mark(begin, end, Part::Prose);
        self.escapes(begin, end);
        Some(end + quote.len())
    }

    /// `\n` ends a line, and a backslash at a line's end joins two.
    fn escapes(&mut self, from: usize, to: usize) {
        let mut at = from;
        while at + 1 < to.min(self.text.len()) {
            if self.text[at] == b'\\' {
                self.mark(at, at + 2, Part::Marker);
                at += 1;
            }
            at += 1;
        }
    }

    /// `r"..."`, `r#"..."#`.
    fn raw_string(&mut self, at: usize) -> Option<usize> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let before = at.checked_sub(1).and_then(|before| self.text.get(before));
        if !self.starts(at, "r") || before.is_some_and(|byte| is_word(byte) && *byte != b'b') {
            return None;
        }
        let hashes = self.text[at + 1..].iter().take_while(|byte| **byte == b'#').count();
        let begin = at + hashes + 2;
        if self.text.get(begin - 1) != Some(&b'"') {
            return None;
        }
        let close = format!("\"{}", "#".repeat(hashes));
        let end = self.find(begin, &close);
        self.mark(begin, end, Part::Prose);
        Some(end + close.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of the prose and of the code.
    fn words(text: &str, syntax: Syntax) -> (String, String) {
        let split = Split::of(text, syntax);
        assert_eq!((split.prose.len(), split.code.len()), (text.len(), text.len()));
        let words = |text: &str| {
            text.split(|c: char| c == '\u{1}' || c.is_whitespace())
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        };
        (words(&split.prose), words(&split.code))
    }

    #[test]
    fn rust_has_comments_strings_characters_and_lifetimes() {
        let text = "/// One `code` two.\nfn f<'a>(x: &'a str) { g('\"', '\\'', \"three\\nfour\", r#\"fi\"ve\"#) } // six\n";
        let (prose, code) = words(text, Syntax::Rust);
        assert_eq!(prose, "One ` ` two. three four fi\"ve six");
        assert!(code.starts_with("fn f<'a>(x: &'a str) { g(") && !code.contains("three"), "{code}");
    }

    #[test]
    fn a_script_has_comments_docstrings_and_strings_of_one_line() {
        let text = "\"\"\"One\ntwo.\"\"\"\nx = 'three' # four isn't\ny = f\"five {x}\"\n";
        assert_eq!(words(text, Syntax::Script).0, "One two. three four isn't five {x}");
    }

    #[test]
    fn c_has_long_comments_whose_stars_are_not_words() {
        let text = "/* One\n * two. */\nint x = 'a' + \"b\"; // three\n";
        assert_eq!(words(text, Syntax::CLike).0, "One two. a b three");
    }

    #[test]
    fn a_page_has_no_fences_no_code_and_no_addresses() {
        let text = "One `two` [three](four.md) é.\n```\nfive\n```\nsix\n";
        assert_eq!(words(text, Syntax::Markdown).0, "One ` ` [three]( ) é. six");
    }

    #[test]
    fn a_name_says_how_a_file_is_read() {
        assert_eq!(Syntax::of("a/b.rs"), Some(Syntax::Rust));
        assert_eq!(Syntax::of("Makefile"), Some(Syntax::Plain));
        assert_eq!(Syntax::of("a/b.parquet"), None);
    }
}
