//! Functions that give up their CPU, where stacks were recorded.

use super::LEAST_SHARE_OF_SWITCHES;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use swtch_trace::tables::{StackReason, StackRow};

/// Names of tasks, and functions of each, in one piece of evidence.
const MOST: usize = 2;

/// Voluntary switches of the tasks of one name, by function.
#[derive(Default)]
struct Sleeper<'a> {
    switches: u64,
    functions: BTreeMap<&'a str, u64>,
}

impl Sleeper<'_> {
    /// The functions with most of the switches.
    fn most(&self) -> String {
        let often = |times: u64| times as f64 >= LEAST_SHARE_OF_SWITCHES * self.switches as f64;
        let mut functions: Vec<_> = self.functions.iter().filter(|(_, times)| often(**times)).collect();
        functions.sort_by_key(|(_, times)| Reverse(**times));
        let named = functions.iter().take(MOST);
        let named = named.map(|(function, times)| format!("{times} times in {}", readable(function)));
        named.collect::<Vec<_>>().join(" and ")
    }
}

/// Where tasks of these names give up their CPU most: `; app gives up its CPU 400 times in queue_pop`. Empty without their stacks.
pub(super) fn of_sleepers(stacks: &[StackRow], names: &BTreeSet<&str>) -> String {
    let mut sleepers: BTreeMap<&str, Sleeper<'_>> = BTreeMap::new();
    for row in stacks.iter().filter(|row| row.reason == StackReason::Voluntary) {
        if names.contains(row.task.as_str()) {
            let sleeper = sleepers.entry(&row.task).or_default();
            sleeper.switches += row.switches;
            *sleeper.functions.entry(&row.function).or_default() += row.switches;
        }
    }
    let mut sleepers: Vec<_> = sleepers.into_iter().collect();
    sleepers.sort_by_key(|(_, sleeper)| Reverse(sleeper.switches));
    let phrase = |(name, sleeper): &(&str, Sleeper<'_>)| {
        let most = sleeper.most();
        (!most.is_empty()).then(|| format!("; {name} gives up its CPU {most}"))
    };
    sleepers.iter().take(MOST).filter_map(phrase).collect()
}

/// A function as people write it. Interpreters put its kind and its file into its name.
fn readable(function: &str) -> String {
    let (name, place) = if let Some(python) = function.strip_prefix("py::") {
        python.split_once(':').unwrap_or((python, ""))
    } else {
        let kinds = ["JS:", "LazyCompile:", "Function:"];
        let script = kinds.iter().find_map(|kind| function.strip_prefix(kind));
        let Some(script) = script else { return function.to_owned() };
        let script = script.trim_start_matches(['*', '~', '^', '+']);
        script.split_once(' ').unwrap_or((script, ""))
    };
    match place.rsplit('/').next() {
        None | Some("") => name.to_owned(),
        Some(file) => format!("{name} ({file})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_interpreters_are_made_readable() {
        let names = [
            ("py::queue_pop:/srv/app.py", "queue_pop (app.py)"),
            ("JS:*handle file:///srv/app.js:12:3", "handle (app.js:12:3)"),
            ("LazyCompile:~handle /srv/app.js:12", "handle (app.js:12)"),
            ("queue::pop<T>", "queue::pop<T>"),
            ("py::main", "main"),
        ];
        for (name, expected) in names {
            assert_eq!(readable(name), expected);
        }
    }

    #[test]
    fn only_functions_that_sleep_often_are_named() {
        let row = |task: &str, function: &str, reason, switches| StackRow {
            task: task.to_owned(),
            function: function.to_owned(),
            reason,
            switches,
            ..StackRow::default()
        };
        let (slept, woke) = (StackReason::Voluntary, StackReason::Wake);
        let rows = [
            row("a", "pop", slept, 300),
            row("a", "pop", slept, 100),
            row("a", "log", slept, 20),
            row("a", "push", woke, 900),
            row("b", "push", slept, 500),
            row("b", "flush", slept, 400),
            row("c", "other", slept, 9000),
            row("d", "seldom", slept, 1),
        ];
        let found = of_sleepers(&rows, &BTreeSet::from(["a", "b", "d"]));
        assert_eq!(
            found,
            "; b gives up its CPU 500 times in push and 400 times in flush; a gives up its CPU 400 times in pop"
        );
        assert_eq!(of_sleepers(&[], &BTreeSet::from(["a"])), "");
    }
}
