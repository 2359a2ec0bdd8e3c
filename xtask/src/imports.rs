//! Which crate may import which: down only, never sideways, as in the layout of ARCHITECTURE.md.

use crate::metadata::Package;
use std::collections::BTreeSet;

/// The levels of the workspace; a crate imports lower levels only. [`table`] prints them, and ARCHITECTURE.md holds what it prints.
const LEVELS: [(u8, &[&str]); 8] = [
    (8, &["swtch", "swtch-python", "swtch-experiments"]),
    (7, &["swtch-report"]),
    (6, &["swtch-decide", "swtch-sweep"]),
    (5, &["swtch-measure", "swtch-record", "swtch-sim", "swtch-sched"]),
    (4, &["swtch-cost"]),
    (3, &["swtch-trace", "swtch-profile", "swtch-study", "swtch-faas", "swtch-sched-ext"]),
    (2, &["swtch-columns", "swtch-stats", "swtch-topology", "swtch-fairness", "swtch-vm", "swtch-http"]),
    (1, &["swtch-units", "swtch-span"]),
];

/// Programs that stand apart: they may use only a little, and nothing may import them.
const SCHEDULERS: &str = "scx_*";
/// Slows CPUs down for them; it stands apart with them.
const SLOWS_CPUS: &str = "swtch-slow";
/// What the schedulers share; it stands apart with them.
const SHARED_BY_SCHEDULERS: &str = "swtch-scx";
const USED_BY_SCHEDULERS: [&str; 5] =
    ["swtch-sched-ext", "swtch-fairness", "swtch-topology", "swtch-units", SHARED_BY_SCHEDULERS];

/// What the chores print tables with: it has few dependencies, and builds in seconds.
const USED_BY_CHORES: &str = "swtch-units";

/// External crates that only some crates may import. A trailing `*` stands for any ending.
const CONFINED: [(&str, &[&str]); 4] = [
    ("clap*", &["swtch", SCHEDULERS, SLOWS_CPUS, SHARED_BY_SCHEDULERS]),
    ("pyo3*", &["swtch-python"]),
    ("libbpf*", &["swtch-record", SCHEDULERS, SLOWS_CPUS, SHARED_BY_SCHEDULERS]),
    ("scx_*", &[SCHEDULERS, SLOWS_CPUS]),
];

/// The table of levels, for people: a line per level, the crates by the names of their directories.
pub(crate) fn table() -> String {
    let line = |(level, names): &(u8, &[&str])| {
        let names: Vec<&str> = names.iter().map(|name| directory(name)).collect();
        format!("{level}  {}\n", names.join("  "))
    };
    LEVELS.iter().map(line).collect()
}

/// The directory of a crate below `crates/`.
fn directory(name: &str) -> &str {
    match name {
        "swtch" => "cli",
        "swtch-sched-ext" => "sched_ext",
        name => name.strip_prefix("swtch-").unwrap_or(name),
    }
}

/// Where a crate of the workspace stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Standing {
    Level(u8),
    Scheduler,
    /// What schedulers share.
    Shared,
    /// xtask: it builds the others, so it must build without them, but for [`USED_BY_CHORES`].
    Chores,
}

fn place(name: &str) -> Option<Standing> {
    if name == "xtask" {
        return Some(Standing::Chores);
    }
    if matches(SCHEDULERS, name) || name == SLOWS_CPUS {
        return Some(Standing::Scheduler);
    }
    if name == SHARED_BY_SCHEDULERS {
        return Some(Standing::Shared);
    }
    LEVELS.iter().find(|(_, names)| names.contains(&name)).map(|(level, _)| Standing::Level(*level))
}

/// Whether it is a live scheduler, or what they share.
pub(crate) fn is_scheduler(name: &str) -> bool {
    [SLOWS_CPUS, SHARED_BY_SCHEDULERS].contains(&name) || matches(SCHEDULERS, name)
}

/// Every import that points up or sideways, every confined crate that got out, every crate without a place.
pub(crate) fn complaints(packages: &[Package]) -> Vec<String> {
    let members: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut complaints = Vec::new();
    for Package { name, dependencies, .. } in packages {
        let Some(importer) = place(name) else {
            complaints.push(format!(
                "{name} has no level; give it one in xtask/src/imports.rs and ARCHITECTURE.md"
            ));
            continue;
        };
        let unique: BTreeSet<&str> = dependencies.iter().map(String::as_str).collect();
        for imported in unique {
            // Not every crate called scx_ is a scheduler: scx_cargo compiles them.
            let level =
                matches!(place(imported), Some(Standing::Level(_) | Standing::Shared | Standing::Chores));
            let ours = members.contains(imported) || level || imported.starts_with("swtch-");
            complaints.extend(if ours { import(name, importer, imported) } else { confined(name, imported) });
        }
    }
    complaints
}

fn import(name: &str, importer: Standing, imported: &str) -> Option<String> {
    let Some(target) = place(imported) else {
        return Some(format!("{name} imports {imported}, which has no level in xtask/src/imports.rs"));
    };
    match (importer, target) {
        (Standing::Level(upper), Standing::Level(lower)) if upper > lower => None,
        (Standing::Level(upper), Standing::Level(lower)) => {
            Some(format!("{name} (level {upper}) imports {imported} (level {lower}); imports go down only"))
        }
        (Standing::Scheduler, Standing::Level(_) | Standing::Shared)
        | (Standing::Shared, Standing::Level(_))
            if USED_BY_SCHEDULERS.contains(&imported) =>
        {
            None
        }
        (Standing::Scheduler | Standing::Shared, _) => Some(format!(
            "{name} imports {imported}; a scheduler may use only {}",
            USED_BY_SCHEDULERS.join(", ")
        )),
        (Standing::Chores, _) if imported == USED_BY_CHORES => None,
        (Standing::Chores, _) => {
            Some(format!("{name} imports {imported}; it must build without the crates it builds"))
        }
        (_, Standing::Scheduler | Standing::Shared | Standing::Chores) => {
            Some(format!("{name} imports {imported}, which stands apart and may not be imported"))
        }
    }
}

fn confined(name: &str, imported: &str) -> Option<String> {
    let (_, allowed) = CONFINED.iter().find(|(pattern, _)| matches(pattern, imported))?;
    let may = allowed.iter().any(|pattern| matches(pattern, name));
    (!may).then(|| format!("{name} imports {imported}; only {} may", allowed.join(", ")))
}

/// Whether a crate's name is the pattern, in which a trailing `*` stands for any ending.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(name == pattern, |start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::packages;

    /// Made-up metadata, in the shape that cargo prints.
    fn complaints_of(crates: &[(&str, &[&str])]) -> Vec<String> {
        let packages_json: Vec<_> = crates
            .iter()
            .map(|(name, dependencies)| {
                let dependencies: Vec<_> = dependencies
                    .iter()
                    .map(|name| serde_json::json!({ "name": name, "kind": "dev", "req": "*" }))
                    .collect();
                serde_json::json!({
                    "name": name, "manifest_path": format!("/x/{name}/Cargo.toml"),
                    "dependencies": dependencies, "targets": [],
                })
            })
            .collect();
        complaints(&packages(&serde_json::json!({ "packages": packages_json }).to_string()).unwrap())
    }

    #[test]
    fn arrows_down_are_fine_however_far() {
        let found = complaints_of(&[
            ("swtch", &["swtch-measure", "swtch-units", "clap", "anyhow"]),
            ("swtch-measure", &["swtch-profile", "swtch-stats", "libc"]),
            ("swtch-profile", &["swtch-stats"]),
            ("swtch-stats", &["proptest"]),
            ("swtch-units", &[]),
            ("scx_fair", &["swtch-scx", "swtch-topology", "libbpf-rs", "clap", "scx_cargo"]),
            ("swtch-scx", &["libbpf-rs", "clap"]),
            ("xtask", &["anyhow", "serde_json", "swtch-units"]),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn the_architecture_holds_the_table_of_levels() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(
            text.contains(&table()),
            "ARCHITECTURE.md lacks what `cargo xtask levels` prints:\n{}",
            table()
        );
    }

    #[test]
    fn an_arrow_up_fails() {
        let found = complaints_of(&[("swtch-stats", &["swtch-measure"]), ("swtch-measure", &[])]);
        assert_eq!(found, ["swtch-stats (level 2) imports swtch-measure (level 5); imports go down only"]);
    }

    #[test]
    fn an_arrow_sideways_fails_also_for_tests_only() {
        assert_eq!(complaints_of(&[("swtch-measure", &["swtch-report"])]).len(), 1);
        assert_eq!(complaints_of(&[("swtch-python", &["swtch"])]).len(), 1);
    }

    #[test]
    fn a_crate_without_a_level_fails_on_both_ends() {
        let found = complaints_of(&[("swtch", &["swtch-new"]), ("swtch-new", &[])]);
        assert!(
            found.len() == 2 && found.iter().all(|complaint| complaint.contains("has no level")),
            "{found:?}"
        );
        assert_eq!(complaints_of(&[("helper", &[])]).len(), 1);
    }

    #[test]
    fn schedulers_and_chores_stand_apart() {
        assert_eq!(complaints_of(&[("swtch-sched", &["scx_fair"])]).len(), 1);
        assert_eq!(complaints_of(&[("scx_fair", &["swtch-sim"])]).len(), 1);
        assert_eq!(complaints_of(&[("scx_fair", &["scx_flsched"]), ("scx_flsched", &[])]).len(), 1);
        assert_eq!(complaints_of(&[("swtch", &["swtch-scx"])]).len(), 1);
        assert_eq!(complaints_of(&[("swtch-scx", &["scx_fair"])]).len(), 1);
        assert_eq!(complaints_of(&[("swtch-record", &["scx_utils"])]).len(), 1);
        assert_eq!(complaints_of(&[("xtask", &["swtch-stats"])]).len(), 1);
        assert_eq!(complaints_of(&[("swtch", &["xtask"]), ("xtask", &[])]).len(), 1);
    }

    #[test]
    fn confined_crates_stay_where_they_belong() {
        let found = complaints_of(&[
            ("swtch-report", &["clap_complete"]),
            ("swtch-stats", &["pyo3"]),
            ("swtch-sim", &["libbpf-sys"]),
        ]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(complaints_of(&[("swtch-python", &["pyo3", "pyo3-build-config"])]).is_empty());
    }
}
