//! `swtch explain` and `swtch book` from end to end.

use crate::common::examples::docs;
use crate::common::{copy_program, home, json, run, stderr, stdout, swtch};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn a_term_is_explained_by_any_of_its_names() {
    let home = home();
    let printed = |words: &[&str]| {
        let output = run(swtch(home.path()).arg("explain").args(words));
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let whole = printed(&["run-queue", "wait"]);
    assert!(
        whole.starts_with("run-queue wait (also: wait, scheduling latency)\n  The time in which"),
        "{whole}"
    );
    assert!(whole.contains("\n  See: behind, run queue, wake-up\n  Page: docs/"), "{whole}");
    assert_eq!((printed(&["Run-Queue wait"]), printed(&["scheduling latency"])), (whole.clone(), whole));
    let all = printed(&[]);
    assert!(all.lines().count() > 50 && all.lines().any(|line| line == "c1"), "{all}");
    let one = json(swtch(home.path()).args(["explain", "c1", "--json"]));
    assert_eq!((one["term"].as_str(), one["also"][0].as_str()), (Some("c1"), Some("direct cost")));
    let listed = json(swtch(home.path()).args(["explain", "--json"]));
    assert_eq!(listed.as_array().unwrap().len(), all.lines().count());
}

/// `docs/glossary.md` is made of the terms that `swtch explain` prints.
#[test]
fn the_page_of_the_glossary_has_every_term() {
    let home = home();
    let terms = json(swtch(home.path()).args(["explain", "--json"]));
    let words = |value: &serde_json::Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let mut page = "# Glossary\n\n`swtch explain TERM` prints the same.\n".to_owned();
    for term in terms.as_array().unwrap() {
        let text = |name: &str| term[name].as_str().unwrap();
        page += &format!("\n## {}\n", text("term"));
        if !words(&term["also"]).is_empty() {
            page += &format!("Also: {}.\n\n", words(&term["also"]).join(", "));
        }
        let anchor = |word: &String| format!("[{word}](#{})", word.to_lowercase().replace(' ', "-"));
        let mut links: Vec<String> = words(&term["see"]).iter().map(anchor).collect();
        links.push(format!("[more]({})", text("page")));
        page += &format!("{}\n\n{}\n", text("meaning"), links.join(" · "));
    }
    let path = docs().join("glossary.md");
    if std::env::var_os("SWTCH_WRITE_PAGES").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let why = "SWTCH_WRITE_PAGES=1 cargo test --workspace --test cli the_page_of_the_glossary writes it";
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page, "docs/glossary.md is old: {why}");
}

#[test]
fn the_book_is_found_where_it_is_installed() {
    let home = home();
    let bin = home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("swtch");
    copy_program(&program);
    let book = |program: &Path| {
        // No screen, so that no browser starts.
        let mut command = Command::new(program);
        command.args(["book"]).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        run(&mut command)
    };
    let missing = book(&program);
    assert_eq!(missing.status.code(), Some(1));
    let said = stderr(&missing);
    assert!(said.contains("cannot open the book: ") && said.contains("make book"), "{said}");

    let index = home.path().join("share/doc/swtch/book/index.html");
    fs::create_dir_all(index.parent().unwrap()).unwrap();
    fs::write(&index, "<h1>swtch</h1>").unwrap();
    let found = book(&program);
    assert!(found.status.success(), "{}", stderr(&found));
    assert_eq!(stdout(&found), format!("The book is {}\n", index.canonicalize().unwrap().display()));
}
