//! What the tables and the document claim.
#![allow(missing_docs)]

use std::path::Path;
use swtch_experiments::{EXPERIMENTS, Options, Pages, Published, Standing, Table};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");

fn results() -> Vec<(&'static str, Vec<Table>)> {
    let short = EXPERIMENTS.iter().filter(|experiment| !experiment.long);
    short.map(|experiment| (experiment.name, (experiment.run)(Options::default()).unwrap())).collect()
}

/// A small part of what takes long says nothing about what was published, but it must run, and alike on any number of threads.
#[test]
fn what_takes_long_runs_in_small_and_has_its_block() {
    let pages = Pages::read(Path::new(DOCS)).unwrap();
    for experiment in EXPERIMENTS.iter().filter(|experiment| experiment.long) {
        let small = |threads| (experiment.run)(Options { threads, small: true }).unwrap();
        let tables = small(2);
        assert!(
            tables
                .iter()
                .flat_map(|table| &table.rows)
                .all(|row| row.obtained.is_finite() && row.obtained >= 0.0)
        );
        assert!(!tables.is_empty());
        let markdown = |tables: &[Table]| tables.iter().map(Table::markdown).collect::<String>();
        assert_eq!(markdown(&tables), markdown(&small(1)), "{}", experiment.name);

        let begin = format!("<!-- begin {} -->", experiment.name);
        let (_, block) = pages.iter().find_map(|(_, page)| page.split_once(&begin)).unwrap();
        let (block, _) = block.split_once("<!-- end ").unwrap();
        assert!(block.contains("| figure | published | obtained |"), "{}", experiment.name);
    }
}

/// Computed once, as the traversals take a while without optimisation.
#[test]
fn every_row_is_as_far_from_what_was_published_as_it_says_and_the_document_has_them() {
    let results = results();
    let rows = || results.iter().flat_map(|(_, tables)| tables).flat_map(|table| &table.rows);
    let complaints: Vec<String> = rows().filter_map(swtch_experiments::Row::complaint).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(rows().all(|row| row.obtained.is_finite()));

    let count = |wanted: fn(&Standing) -> bool| rows().filter(|row| wanted(&row.standing)).count();
    let calibrated = count(|standing| matches!(standing, Standing::Calibrated { .. }));
    let reproduced = count(|standing| matches!(standing, Standing::Reproduced { .. }));
    assert!(reproduced > 5 * calibrated, "{reproduced} checked, {calibrated} calibrated");

    let pages = Pages::read(Path::new(DOCS)).unwrap();
    let again = pages.update(&results).unwrap();
    let hint = "run: cargo run --release -p swtch-experiments -- all --write docs";
    for ((path, old), (_, new)) in pages.iter().zip(again.iter()) {
        let name = path.display();
        for (line, (old, new)) in old.lines().zip(new.lines()).enumerate() {
            assert_eq!(old, new, "line {} of {name} is out of date; {hint}", line + 1);
        }
        assert_eq!(old.lines().count(), new.lines().count(), "{name} is out of date; {hint}");
    }
}

#[test]
fn published_figures_are_those_of_the_sources() {
    let of = |name: &str| {
        let experiment = EXPERIMENTS.iter().find(|experiment| experiment.name == name).unwrap();
        (experiment.run)(Options { threads: 1, ..Options::default() }).unwrap()
    };
    let values = |table: &Table| -> Vec<f64> {
        let value = |published| match published {
            Published::Value(value) => value,
            Published::Range(_, most) => most,
        };
        table.rows.iter().filter_map(|row| row.published.map(value)).collect()
    };
    assert_eq!(values(&of("two-apps")[0]), [15.0, -20.0, -43.0, 1.0, -49.0, -69.0]);
    let diverse_and_similar = [
        107.0, 62.0, 43.0, 106.0, 85.0, 72.0, 104.0, 85.0, 78.0, 100.0, 56.0, 33.0, 100.0, 85.0, 72.0, 100.0,
        87.0, 90.0,
    ];
    let mixes = of("mixes");
    assert_eq!(values(&mixes[0]), diverse_and_similar);
    assert_eq!(values(&mixes[1]), diverse_and_similar);
    assert_eq!(values(&of("all-mixes")[0]), [40.0, 4.0, 51.0, 24.0, 3.0]);
    let ring = [
        6.0, 7.0, 7.0, 8.0, 8.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 15.0, 18.0, 46.0, 88.0, 22.0, 24.0, 107.0,
        187.0, 188.0, 38.0, 140.0, 363.0, 367.0, 367.0,
    ];
    assert_eq!(values(&of("ring")[0]), ring);
}

#[test]
fn figures_do_not_depend_on_the_number_of_threads() {
    let experiment = EXPERIMENTS.iter().find(|experiment| experiment.name == "all-mixes").unwrap();
    let markdown = |threads| -> Vec<String> {
        (experiment.run)(Options { threads, ..Options::default() })
            .unwrap()
            .iter()
            .map(Table::markdown)
            .collect()
    };
    assert_eq!(markdown(1), markdown(5));
}

#[test]
fn names_are_unique_and_none_is_all() {
    let names = EXPERIMENTS.map(|experiment| experiment.name);
    let distinct: std::collections::BTreeSet<&str> = names.into_iter().collect();
    assert_eq!(distinct.len(), names.len());
    assert!(!names.contains(&"all"));
}

/// The simulator's own page begins with how far it is off: the ends of the rows of its results.
#[test]
fn the_page_of_the_simulator_has_the_errors_of_its_results() {
    let read = |name: &str| std::fs::read_to_string(Path::new(DOCS).join(name)).unwrap();
    let (results, page) = (read("results/simulator.md"), read("simulate.md"));
    let off = |cell: &str| -> i32 {
        let cell = cell.trim_matches(|letter: char| letter == '*' || letter.is_whitespace());
        cell.trim_end_matches(" %").trim_start_matches('+').parse().unwrap()
    };
    for kind in ["pipe", "hackbench", "tasks that compute"] {
        let rows = results.lines().filter(|line| line.starts_with("| ") && line.contains(kind));
        let rows: Vec<Vec<&str>> = rows
            .map(|line| line.trim_matches('|').split('|').collect::<Vec<_>>())
            // hackbench runs with pipes, too.
            .filter(|cells| cells.len() == 7 && (kind == "hackbench") == cells[0].contains("hackbench"))
            .collect();
        assert!(rows.len() >= 4, "{kind}: {rows:?}");
        let ends = |column: usize| {
            let all = || rows.iter().map(|cells| off(cells[column]));
            let shown = |percent: i32| if percent == 0 { "0".to_owned() } else { format!("{percent:+}") };
            format!("{} % to {} %", shown(all().min().unwrap()), shown(all().max().unwrap()))
        };
        let row = format!("| {kind} | {} | {} |", ends(3), ends(6));
        assert!(page.contains(&row), "docs/simulate.md lacks this row: {row}");
    }
}
