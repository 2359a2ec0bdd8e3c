//! Pairs of tasks: which task preempts which, and which task wakes which.

use std::collections::{BTreeMap, HashMap};
use std::slice;

use swtch_trace::model::Field;
use swtch_trace::{Trace, fields};

use super::{PricedTrace, Traces};
use crate::html::prelude::*;

/// Names on a side of the square on a desk; the rest is summed as others.
const MOST: usize = 12;
/// On a phone.
const MOST_NARROW: usize = 6;
/// Pairs in a table; the rest is summed below it.
const MOST_ROWS: usize = 200;

/// A pair of threads.
struct ThreadPair {
    from: u32,
    to: u32,
    count: u64,
    /// What a second column of figures says of it.
    detail: Option<u64>,
}

impl ThreadPair {
    fn new((from, to, count, detail): (u32, u32, u64, Option<u64>)) -> Self {
        Self { from, to, count, detail }
    }
}

/// A kind of pairs and its words.
struct Relation {
    id: &'static str,
    heading: &'static str,
    caption: &'static str,
    /// `preempted`, between two names.
    verb: &'static str,
    /// The names of rows and columns, in the square and in the table.
    from: &'static str,
    to: &'static str,
    detail: &'static str,
    detail_is_time: bool,
    /// What thread 0 stands for.
    nobody: &'static str,
    pairs: fn(&Trace) -> Vec<ThreadPair>,
    field: Field,
}

const PREEMPTIONS: Relation = Relation {
    id: "preemptions",
    heading: "Preemptions by pair",
    caption: "How often the task of a row took the CPU from the task of a column, which could have gone on.",
    verb: "preempted",
    from: "Took the CPU",
    to: "From",
    detail: "Then waited in all",
    detail_is_time: true,
    nobody: "idle",
    pairs: |trace| {
        let pairs = trace.preemptions.iter().map(|row| (row.by_tid, row.of_tid, row.count, row.ns));
        pairs.map(ThreadPair::new).collect()
    },
    field: fields::PREEMPTIONS,
};

const WAKES: Relation = Relation {
    id: "wakes",
    heading: "Wake-ups by pair",
    caption: "How often the task of a row woke the task of a column. Two that wake each other in turn hand something back and forth.",
    verb: "woke",
    from: "Woke",
    to: "Of",
    detail: "Ran on the waker’s CPU",
    detail_is_time: false,
    nobody: "an interrupt while idle",
    pairs: |trace| {
        let pairs = trace.wakes.iter().map(|row| (row.waker_tid, row.wakee_tid, row.count, row.same_cpu));
        pairs.map(ThreadPair::new).collect()
    },
    field: fields::WAKES,
};

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let mut section = Section::bare("pairs", "Preemptions and wake-ups by pair");
    for kind in [&PREEMPTIONS, &WAKES] {
        let pairs = |priced: &PricedTrace| (kind.pairs)(&priced.trace);
        let some = subjects.iter().map(|one| (one, pairs(one.of))).filter(|(_, pairs)| !pairs.is_empty());
        let fields = slice::from_ref(&kind.field);
        // Nothing counted is a finding; nothing countable has a reason.
        let seen = |priced: &PricedTrace| {
            !pairs(priced).is_empty() || !priced.unavailable().iter().any(|row| row.field.is_of(fields))
        };
        let none = subjects.iter().filter(|one| seen(one.of) && pairs(one.of).is_empty());
        section = section
            .heading(kind.heading)
            .put(some.map(|(one, pairs)| figure(subjects, one, kind, &pairs)))
            .put(subjects.lacking("such pairs", fields, seen))
            .put(none.map(|one| one.prefixed(&format!("No task {} another.", kind.verb))));
    }
    section
}

/// How tasks are called in a square: by name and number, or together by name where there are more than the square has room for.
struct Names<'a> {
    by_tid: HashMap<u32, &'a str>,
    together: bool,
    nobody: &'static str,
}

impl<'a> Names<'a> {
    fn new(trace: &'a Trace, pairs: &[ThreadPair], nobody: &'static str) -> Self {
        let tids = distinct(pairs.iter().flat_map(|pair| [pair.from, pair.to]));
        let by_tid = trace.tasks.iter().map(|task| (task.tid, task.comm.as_str())).collect();
        Self { by_tid, together: tids.len() > MOST, nobody }
    }

    /// With its number.
    fn exact(&self, tid: u32) -> String {
        match self.by_tid.get(&tid) {
            _ if tid == 0 => self.nobody.to_owned(),
            Some(comm) => format!("{comm} {tid}"),
            None => format!("tid {tid}"),
        }
    }

    fn of(&self, tid: u32) -> String {
        match self.by_tid.get(&tid) {
            Some(comm) if self.together && tid != 0 => (*comm).to_owned(),
            _ => self.exact(tid),
        }
    }
}

fn figure(subjects: Traces<'_>, one: One<'_, PricedTrace>, kind: &Relation, pairs: &[ThreadPair]) -> Figure {
    let names = Names::new(&one.of.trace, pairs, kind.nobody);
    let squares = [MOST, MOST_NARROW].map(|most| square(kind, pairs, &names, most));
    let several = if subjects.several() { format!("-{}", one.index) } else { String::new() };
    let id = format!("figure-{}{several}", kind.id);
    let label = format!("{}, as a square of counts", kind.heading);
    let table = table(kind, pairs, &names, &one.prefixed(kind.heading));
    let together = "Tasks of the same name are put together; the table has each thread.";
    Figure::new(id, one.prefixed(kind.caption), &label, table, &squares)
        .notes(names.together.then_some(together))
}

/// The names with most counts on both sides, and the rest as one.
fn square(kind: &Relation, pairs: &[ThreadPair], names: &Names<'_>, most: usize) -> Matrix {
    let mut counts: HashMap<(String, String), u64> = HashMap::new();
    let mut weights: HashMap<String, u64> = HashMap::new();
    for pair in pairs {
        let (from, to) = (names.of(pair.from), names.of(pair.to));
        *weights.entry(from.clone()).or_default() += pair.count;
        *weights.entry(to.clone()).or_default() += pair.count;
        *counts.entry((from, to)).or_default() += pair.count;
    }
    let mut order: Vec<(String, u64)> = weights.into_iter().collect();
    order.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    // One other has a name.
    let rest = if order.len() > most + 1 { order.split_off(most) } else { Vec::new() };
    let mut shown: Vec<String> = order.into_iter().map(|(name, _)| name).collect();
    let place: HashMap<String, usize> = shown.iter().enumerate().map(|(i, name)| (name.clone(), i)).collect();
    if !rest.is_empty() {
        shown.push(format!("{} others", text::count(rest.len() as u64)));
    }
    let others = shown.len() - 1;
    let mut sums: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for ((from, to), count) in counts {
        let at = |name: &str| place.get(name).copied().unwrap_or(others);
        *sums.entry((at(&from), at(&to))).or_default() += count;
    }
    let cell = |((row, column), count): ((usize, usize), u64)| {
        let who = format!("{} {} {}", shown[row], kind.verb, shown[column]);
        let tip = vec![who, format!("{} times", text::count(count))];
        GridCell { row, column, value: count as f64, flagged: false, tip }
    };
    let cells = sums.into_iter().map(cell).collect();
    Matrix { names: shown, cells, rows_name: kind.from, columns_name: kind.to.to_lowercase() }
}

fn table(kind: &Relation, pairs: &[ThreadPair], names: &Names<'_>, title: &str) -> Table {
    let mut sorted: Vec<&ThreadPair> = pairs.iter().collect();
    sorted.sort_by_key(|pair| (std::cmp::Reverse(pair.count), pair.from, pair.to));
    let rest = sorted.split_off(sorted.len().min(MOST_ROWS));
    let cells = |to: Cell, count: u64, detail: Option<u64>| {
        let cell = if kind.detail_is_time { Cell::time } else { Cell::count };
        vec![to, Cell::count("Times", count), cell(kind.detail, detail)]
    };
    let rows = sorted.iter().map(|pair| {
        let to = Cell::text(kind.to, names.exact(pair.to));
        TableRow::new(names.exact(pair.from), cells(to, pair.count, pair.detail))
    });
    let count = rest.iter().map(|pair| pair.count).sum();
    let detail = rest.iter().map(|pair| pair.detail).sum();
    let head = format!("{} more pairs", text::count(rest.len() as u64));
    let sums = (!rest.is_empty()).then(|| TableRow::new(head, cells(Cell::text("", ""), count, detail)));
    let most = if rest.is_empty() { "" } else { ": the most frequent pairs" };
    Table::new(format!("{title}{most}"), kind.from, rows).sortable().sums(sums)
}
