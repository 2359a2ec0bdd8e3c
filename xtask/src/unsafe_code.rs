//! Where `unsafe` may be written.

use crate::imports::is_scheduler;
use crate::metadata::Package;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Crates that talk to the kernel, to the clock or to Python.
const ANYWHERE: [&str; 3] = ["swtch-measure", "swtch-record", "swtch-python"];
/// A crate and the places of its sources: a folder with the C it calls, and a file with hints to the processor.
const IN_PLACES: [(&str, &[&str]); 1] = [("swtch-sim", &["scx", "prefetch.rs"])];

const ATTRIBUTE: &str = "#![forbid(unsafe_code)]";

/// Every use of `unsafe` outside its places, and every crate that could forbid it and does not.
pub(crate) fn complaints(packages: &[Package]) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for package in packages {
        if ANYWHERE.contains(&package.name.as_str()) || is_scheduler(&package.name) {
            continue;
        }
        let sources = package.folder.join("src");
        let places = IN_PLACES.iter().find(|(name, _)| *name == package.name).map(|(_, places)| *places);
        for file in rust_files(&sources)? {
            let shown =
                file.strip_prefix(package.folder.parent().unwrap_or(&sources)).unwrap_or(&file).display();
            let text =
                std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let is_root = file == sources.join("lib.rs") || file == sources.join("main.rs");
            if is_root && places.is_none() && !text.lines().any(|line| line.trim() == ATTRIBUTE) {
                complaints.push(format!("{shown} lacks {ATTRIBUTE}"));
            }
            let permitted = places.into_iter().flatten().any(|place| file.starts_with(sources.join(place)));
            if let (false, Some(line)) = (permitted, first_unsafe_line(&text)) {
                complaints
                    .push(format!("{shown}:{line} has `unsafe`, which is for {} only", ANYWHERE.join(", ")));
            }
        }
    }
    Ok(complaints)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The number of the first line with the keyword `unsafe`, comments and literals left aside.
fn first_unsafe_line(source: &str) -> Option<usize> {
    let code = blank_out_comments_and_literals(source);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.lines()
        .position(|line| line.split(|c| !is_word(c)).any(|word| word == "unsafe"))
        .map(|index| index + 1)
}

/// The source with comments and the inside of literals replaced by nothing, line breaks kept.
fn blank_out_comments_and_literals(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = skipped_length(rest, code.chars().next_back());
        if skipped > 0 {
            code.extend(rest[..skipped].chars().filter(|c| *c == '\n'));
            // A gap, so that the words on either side do not become one.
            code.push(' ');
            rest = &rest[skipped..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// The length of the comment or literal that the text begins with; 0 where it begins with code.
fn skipped_length(text: &str, before: Option<char>) -> usize {
    let until =
        |end: &str, from: usize| text[from..].find(end).map_or(text.len(), |place| from + place + end.len());
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment_length(text);
    }
    if text.starts_with('"') {
        return quoted_length(text, '"');
    }
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if let (Some(raw), false) = (text.strip_prefix('r'), in_word) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            return until(&format!("\"{}", "#".repeat(hashes)), hashes + 2);
        }
    }
    // 'a' and '\n' are characters; 'a without a closing quote is a lifetime.
    let mut characters = text.chars();
    match (characters.next(), characters.next(), characters.next()) {
        (Some('\''), Some('\\'), _) => quoted_length(text, '\''),
        (Some('\''), Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (place, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return place + c.len_utf8();
        }
    }
    text.len()
}

/// Block comments nest.
fn block_comment_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut place = 0;
    while place < text.len() {
        if text[place..].starts_with("/*") {
            depth += 1;
            place += 2;
        } else if text[place..].starts_with("*/") {
            depth -= 1;
            place += 2;
            if depth == 0 {
                return place;
            }
        } else {
            place += text[place..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keyword_is_found_and_words_around_it_are_not() {
        assert_eq!(first_unsafe_line("fn a() {\n    unsafe { b() }\n}"), Some(2));
        assert_eq!(first_unsafe_line("unsafe\u{20}impl Send for A {}"), Some(1));
        assert_eq!(first_unsafe_line("#![forbid(unsafe_code)]\nfn not_unsafe() {}"), None);
    }

    #[test]
    fn comments_and_literals_do_not_count() {
        for source in [
            "// unsafe",
            "/* a /* nested */ unsafe */ fn f() {}",
            "let a = \"unsafe \\\" unsafe\";",
            "let a = r#\"unsafe \" unsafe\"#;",
            "let a = r\"\\\"; // unsafe",
            "let quote = '\"'; // \" unsafe",
            "let quote = '\\''; // unsafe",
        ] {
            assert_eq!(first_unsafe_line(source), None, "{source}");
        }
    }

    #[test]
    fn code_after_comments_and_literals_counts() {
        for source in [
            "/* a */ unsafe {}",
            "let a = \"x\"; unsafe {}",
            "let a = r#\"x\"#; unsafe {}",
            "let a = r\"\\\"; unsafe {}",
            "let quote = '\"'; unsafe {}",
            "fn f<'a>(x: &'a str) { unsafe {} }",
            "let a = \"unfinished \\\\\"; unsafe {}",
        ] {
            assert_eq!(first_unsafe_line(source), Some(1), "{source}");
        }
        assert_eq!(first_unsafe_line("/* one\ntwo */\nlet a = \"b\nc\";\nunsafe {}"), Some(5));
    }

    #[test]
    fn a_crate_must_forbid_what_it_does_not_need() {
        let folder = std::env::temp_dir().join(format!("swtch-xtask-unsafe-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("src/scx")).unwrap();
        std::fs::write(folder.join("src/lib.rs"), "fn a() {}\n").unwrap();
        std::fs::write(folder.join("src/scx/call.rs"), "fn a() { unsafe { c() } }\n").unwrap();
        let complaints_as = |name: &str| {
            let package =
                Package { name: name.into(), folder: folder.clone(), dependencies: vec![], targets: vec![] };
            complaints(&[package]).unwrap()
        };
        let found = complaints_as("swtch-stats");
        assert!(found.len() == 2 && found[0].ends_with("lacks #![forbid(unsafe_code)]"), "{found:?}");
        assert!(found[1].contains("src/scx/call.rs:1 has `unsafe`"), "{found:?}");
        assert!(complaints_as("swtch-sim").is_empty());
        assert!(complaints_as("swtch-record").is_empty());
        assert!(complaints_as("scx_fair").is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
