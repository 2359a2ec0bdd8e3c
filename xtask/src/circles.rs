//! Modules of a crate in `crates/` that import each other in a circle.
//!
//! At every level of a crate's module tree, a module and all below it count as one. Siblings may import each other, but not in a circle. What
//! a module takes from those above it does not count: they are one thing. Read are `use` and paths from `crate` or `super`, outside of
//! tests; macros are not expanded.

use crate::metadata::Package;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module's names from the crate's root on.
type ModulePath = Vec<String>;
/// Whom each of some siblings imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Circles that are known: the crate, and its modules.
const KNOWN: [(&str, &str); 0] = [];

/// Every circle that is not known, and every known one that is gone.
pub(crate) fn complaints(packages: &[Package]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for package in packages
        .iter()
        .filter(|package| package.folder.parent().is_some_and(|parent| parent.ends_with("crates")))
    {
        let mut modules = BTreeMap::new();
        read(&package.folder.join("src"), &mut Vec::new(), &mut modules)?;
        found.extend(circles(&modules).into_iter().map(|circle| (package.name.clone(), circle)));
    }
    Ok(judged(&found, &KNOWN))
}

/// The complaints about the circles of some crates, where some are known.
fn judged(found: &[(String, String)], known: &[(&str, &str)]) -> Vec<String> {
    let is = |(name, circle): &(String, String), row: &(&str, &str)| name == row.0 && circle == row.1;
    let new = found.iter().filter(|one| !known.iter().any(|row| is(one, row)));
    let new = new.map(|(name, circle)| format!("modules of {name} import each other in a circle: {circle}"));
    let gone = known.iter().filter(|row| !found.iter().any(|one| is(one, row)));
    let gone = gone.map(|(name, circle)| {
        format!("modules of {name} no longer import each other in a circle: remove '{circle}' from xtask/src/circles.rs")
    });
    new.chain(gone).collect()
}

/// The sources below a directory, by module; tests left out.
fn read(directory: &Path, at: &mut ModulePath, modules: &mut BTreeMap<ModulePath, String>) -> Result<()> {
    let shown = directory.display();
    for entry in fs::read_dir(directory).with_context(|| format!("cannot list {shown}"))? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if ["tests", "testing", "bin"].contains(&stem.as_str()) {
            continue;
        }
        if path.is_dir() {
            at.push(stem);
            read(&path, at, modules)?;
            at.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let mut module = at.clone();
            if !["lib", "main", "mod"].contains(&stem.as_str()) {
                module.push(stem);
            }
            modules.insert(module, code(&text));
        }
    }
    Ok(())
}

/// The source without line comments and without its unit tests, which are at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The circles: `PARENT: A, B`, without the parent at the root.
fn circles(modules: &BTreeMap<ModulePath, String>) -> Vec<String> {
    let mut by_parent: BTreeMap<ModulePath, Imports> = BTreeMap::new();
    for (module, text) in modules {
        for path in paths(text) {
            let Some(target) = resolve(module, &path, modules) else { continue };
            let shared = module.iter().zip(&target).take_while(|(one, other)| one == other).count();
            if shared < module.len() && shared < target.len() {
                let siblings = by_parent.entry(module[..shared].to_vec()).or_default();
                siblings.entry(module[shared].clone()).or_default().insert(target[shared].clone());
            }
        }
    }
    let mut found = Vec::new();
    for (parent, imports) in by_parent {
        let mut seen = BTreeSet::new();
        for one in imports.keys() {
            let reached = reached(one, &imports);
            // A circle is all that is reached and reaches back.
            let circle: BTreeSet<&str> = reached
                .iter()
                .filter(|other| self::reached(other, &imports).contains(one.as_str()))
                .copied()
                .collect();
            if circle.len() > 1 && seen.insert(circle.clone()) {
                let names: Vec<&str> = circle.into_iter().collect();
                let place = if parent.is_empty() { String::new() } else { parent.join("::") + ": " };
                found.push(place + &names.join(", "));
            }
        }
    }
    found
}

/// All siblings that one imports, directly or through others.
fn reached<'a>(one: &str, imports: &'a Imports) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = imports.get(one).into_iter().flatten().map(String::as_str).collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(imports.get(next).into_iter().flatten().map(String::as_str));
        }
    }
    reached
}

/// Paths in `use` declarations, which begin a line, and those from `crate` or `super` elsewhere.
fn paths(text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut paths = Vec::new();
    let words = text.split(|c| !is_path(c));
    // Of a declaration with braces, this is where the tree begins: a module that the whole of it stands in.
    let named = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    paths.extend(named.map(str::to_owned));
    for (place, _) in text.match_indices("use ") {
        let line = text[..place].rsplit('\n').next().unwrap_or_default().trim();
        let begins = line.is_empty() || line.starts_with("pub") || line.ends_with([';', '{']);
        if let (true, Some((tree, _))) = (begins, text[place + 4..].split_once(';')) {
            expand("", tree, &mut paths);
        }
    }
    paths
}

/// The single paths of a tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let mut depth = 0;
    let parts = tree.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('{') {
            Some((head, inner)) => {
                let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
                expand(&format!("{prefix}{}", head.trim()), inner, paths);
            }
            None => paths.push(format!("{prefix}{part}")),
        }
    }
}

/// The module in which a path of `module` ends; `None` for paths into other crates.
fn resolve(module: &[String], path: &str, modules: &BTreeMap<ModulePath, String>) -> Option<ModulePath> {
    let mut names =
        path.split("::").map(|name| name.split_whitespace().next().unwrap_or_default()).peekable();
    let mut at = module.to_vec();
    match *names.peek()? {
        "crate" => at.clear(),
        "super" | "self" => {}
        first => {
            at.push(first.to_owned());
            let is_child = modules.contains_key(&at);
            at.pop();
            is_child.then_some(())?;
        }
    }
    for name in names {
        match name {
            "crate" | "self" => {}
            "super" => {
                at.pop();
            }
            name => {
                at.push(name.to_owned());
                if !modules.contains_key(&at) {
                    at.pop();
                    break;
                }
            }
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<String> {
        let module =
            |path: &str| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        circles(&sources.iter().map(|(path, text)| (module(path), code(text))).collect())
    }

    #[test]
    fn siblings_in_a_circle_are_found_at_every_level() {
        let direct = [("", "mod a; mod b;"), ("a", "use crate::b::B;"), ("b", "fn f() { super::a::g() }")];
        assert_eq!(found(&direct), ["a, b"]);
        let around = [
            ("x", ""),
            ("x::a", "use super::{b::B, other};"),
            ("x::b", "use crate::x::{c::{C, D}};"),
            ("x::c", "use crate::x::a;"),
        ];
        assert_eq!(found(&around), ["x: a, b, c"]);
        // A module below another counts with that one.
        let below = [("a", "use crate::b::B;"), ("b", ""), ("b::inner", "use crate::a::A;")];
        assert_eq!(found(&below), ["a, b"]);
    }

    #[test]
    fn parents_tests_comments_and_other_crates_do_not_count() {
        let sources = [
            ("", "pub use a::A;"),
            ("a", "use super::Shared; use crate::b::B; // crate::b"),
            ("b", "// use crate::a::A;\nuse std::a;\n#[cfg(test)]\nmod tests {\n use crate::a::A; }"),
            ("a::inner", "use super::A; use crate::a::A;"),
        ];
        assert_eq!(found(&sources), Vec::<String>::new());
    }

    #[test]
    fn a_new_circle_and_a_stale_row_are_complaints() {
        let found = [("a".to_owned(), "x, y".to_owned()), ("a".to_owned(), "p, q".to_owned())];
        let known = [("a", "x, y"), ("b", "p, q")];
        let complaints = judged(&found, &known);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        assert!(complaints[0].contains("of a import each other in a circle: p, q"), "{complaints:?}");
        assert!(
            complaints[1].contains("of b no longer") && complaints[1].contains("'p, q'"),
            "{complaints:?}"
        );
    }
}
