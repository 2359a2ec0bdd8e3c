//! Which programs make the switches of a recorded ensemble: small enough for a baseline, and what a change is explained by.

use crate::pairs::{SwitchedFor, TaskNames, explaining, program, switched_for};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use swtch_trace::TraceView;

/// Switches of programs, of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Who {
    /// The program that was switched from.
    pub task: String,
    /// The one that preempted it, or that woke it again.
    pub peer: Option<String>,
    /// The function in which it was switched from, where there are stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// `involuntary` or `voluntary`.
    pub metric: String,
    /// Their number a run.
    pub count: f64,
}

/// How many more switches there are than in the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhoDifference {
    /// The program that was switched from.
    pub task: String,
    /// The one that preempted it, or that woke it again.
    pub peer: Option<String>,
    /// The function in which it was switched from, where one explains half of the difference.
    pub function: Option<String>,
    /// `involuntary` or `voluntary`.
    pub metric: String,
    /// Their number a run, less that of the baseline.
    pub difference: f64,
}

/// This program.
const OWN: &str = "swtch";
/// What a baseline keeps: the pairs with most switches, and as many functions.
const MOST: usize = 40;

/// Of a Trace of `runs` runs, without this program's own process, `runner`, and what it does beside the command.
pub(super) fn who(trace: TraceView<'_>, runs: usize, runner: Option<u32>) -> Vec<Who> {
    let names = TaskNames::of(&trace, |task| Some(task.pid) == runner || task.comm == OWN && !task.in_scope);
    let is_runner = |of: &SwitchedFor| runner.is_some() && of.task == OWN;
    // The place of code without a name is another one in every build.
    let is_unnamed = |of: &SwitchedFor| of.function.as_ref().is_some_and(|function| function.contains("+0x"));
    let mut found: Vec<Who> = switched_for(trace, &names)
        .into_iter()
        .filter(|(of, _)| !is_runner(of) && !is_unnamed(of))
        .map(|(of, count)| Who {
            task: of.task,
            peer: of.peer,
            function: of.function,
            metric: if of.is_involuntary { "involuntary" } else { "voluntary" }.to_owned(),
            count: count as f64 / runs as f64,
        })
        .collect();
    found.sort_by(|one, other| other.count.total_cmp(&one.count));
    let (mut pairs, mut functions) = (0, 0);
    found.retain(|who| {
        let kept = if who.peer.is_some() { &mut pairs } else { &mut functions };
        *kept += 1;
        *kept <= MOST
    });
    found.sort_by(|one, other| one.key().cmp(&other.key()));
    found
}

type Key<'a> = (&'a str, Option<&'a str>, Option<&'a str>, &'a str);

impl Who {
    /// Baselines of before have single kernel workers.
    fn key(&self) -> Key<'_> {
        (program(&self.task), self.peer.as_deref().map(program), self.function.as_deref(), &self.metric)
    }
}

/// What pairs make more or less of, the largest difference first; each with the function that explains it.
pub(super) fn differences(old: &[Who], new: &[Who]) -> Vec<WhoDifference> {
    let mut sums: BTreeMap<Key<'_>, f64> = BTreeMap::new();
    for (side, sign) in [(old, -1.0), (new, 1.0)] {
        for who in side {
            *sums.entry(who.key()).or_default() += sign * who.count;
        }
    }
    // A baseline without functions says nothing about them.
    let has_functions = [old, new].iter().all(|side| side.iter().any(|who| who.function.is_some()));
    sums.retain(|(_, peer, ..), difference| *difference != 0.0 && (has_functions || peer.is_some()));
    let functions = |task: &str, metric: &str| {
        let rows =
            sums.iter().filter(|((of, peer, _, kind), _)| *of == task && *kind == metric && peer.is_none());
        rows.filter_map(|((_, _, function, _), difference)| Some(((*function)?, *difference)))
            .collect::<Vec<_>>()
    };
    let pairs = sums.iter().filter_map(|((task, peer, _, metric), difference)| {
        let function = explaining(*difference, functions(task, metric).into_iter());
        Some(WhoDifference {
            task: (*task).to_owned(),
            peer: Some((*peer)?.to_owned()),
            function: function.map(str::to_owned),
            metric: (*metric).to_owned(),
            difference: *difference,
        })
    });
    let mut found: Vec<WhoDifference> = pairs.collect();
    found.sort_by(|one, other| other.difference.abs().total_cmp(&one.difference.abs()));
    found
}

impl WhoDifference {
    /// `client waits for parser in next_request 60 times more a run`.
    pub fn words(&self) -> String {
        let Self { task, peer, metric, difference, .. } = self;
        let amount = if difference.abs() >= 10.0 {
            format!("{:.0}", difference.abs())
        } else {
            format!("{:.1}", difference.abs())
        };
        let times = format!("{amount} times {} a run", if *difference > 0.0 { "more" } else { "less" });
        let within = self.function.as_ref().map_or_else(String::new, |function| format!(" in {function}"));
        match (peer, metric.as_str()) {
            (Some(peer), "involuntary") => format!("{task} is preempted by {peer}{within} {times}"),
            (Some(peer), _) => format!("{task} waits for {peer}{within} {times}"),
            (None, metric) => format!("{task} makes {metric} switches{within} {times}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_topology::Host;
    use swtch_trace::Tables;
    use swtch_trace::model::{Header, Provenance, Scope};
    use swtch_trace::tables::{PreemptionRow, StackReason, StackRow, TaskRow, WakeRow};

    /// A client that waits for a parser in one function, and in another for a timer; this program runs it.
    fn recorded(pings: u64) -> Tables {
        let task = |tid, pid, comm: &str, in_scope| TaskRow {
            tid,
            pid,
            comm: comm.to_owned(),
            in_scope,
            ..TaskRow::default()
        };
        let tasks = vec![
            task(1, 1, "swtch", true),
            task(7, 7, "client", true),
            task(8, 7, "parser", true),
            task(9, 9, "kworker/0:1", false),
            task(10, 10, "swtch", false),
        ];
        let wake =
            |wakee_tid, waker_tid, count| WakeRow { wakee_tid, waker_tid, count, ..WakeRow::default() };
        let wakes = vec![wake(7, 8, 100 + pings), wake(7, 0, 20), wake(1, 7, 4), wake(7, 1, 4)];
        let preempted = |by_tid, count| PreemptionRow { by_tid, of_tid: 7, count, ns: None };
        let preemptions = vec![preempted(9, 8), preempted(10, 500)];
        let stack = |function: &str, switches| StackRow {
            reason: StackReason::Voluntary,
            task: "client".to_owned(),
            frames: format!("main;{function}"),
            function: function.to_owned(),
            switches,
            off_cpu_ns: 0,
            wait_ns: 0,
            cost_ns: None,
        };
        let unnamed = stack("libc.so.6+0x85f16 [build id 93ac]", 9 + pings);
        let stacks = vec![stack("next_request", 100 + pings), stack("nap", 20), unnamed];
        Tables { tasks, wakes, preemptions, stacks, ..Tables::default() }
    }

    fn of(tables: &Tables) -> Vec<Who> {
        let scope = Scope::Command { command: vec!["swtch".to_owned()], pid: 1 };
        who(tables.view(&Header::new(Provenance::default(), Host::default(), scope)), 4, Some(1))
    }

    #[test]
    fn a_pair_is_named_with_the_function_that_explains_it() {
        let (old, new) = (of(&recorded(0)), of(&recorded(240)));
        let names: Vec<_> =
            old.iter().map(|who| (who.task.as_str(), who.peer.as_deref(), who.count)).collect();
        let wanted = [
            ("client", None, 5.0),
            ("client", None, 25.0),
            ("client", Some("an interrupt"), 5.0),
            ("client", Some("kworker"), 2.0),
            ("client", Some("parser"), 25.0),
        ];
        assert_eq!(names, wanted, "this program and what it does are left out");
        let [found] = &differences(&old, &new)[..] else { panic!("{old:?} {new:?}") };
        assert_eq!(found.words(), "client waits for parser in next_request 60 times more a run");
        // A baseline of before: without functions, and with the names of single kernel workers.
        let before: Vec<Who> = old
            .iter()
            .filter(|who| who.function.is_none())
            .map(|who| Who {
                peer: who.peer.as_ref().map(|peer| peer.replace("kworker", "kworker/0:2")),
                ..who.clone()
            })
            .collect();
        let [found] = &differences(&before, &new)[..] else { panic!("{before:?}") };
        assert_eq!(found.words(), "client waits for parser 60 times more a run");
    }
}
