//! Who preempts whom, and who wakes whom.

use std::collections::HashMap;
use std::slice;

use swtch_trace::model::Field;
use swtch_trace::{Trace, fields};

use super::super::charts::matrix::{self, Matrix};
use super::super::page::{Cell, Figure, Section, Table};
use super::super::subjects::Subject;
use super::super::text;
use super::{NamedTrace, Traces};

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

/// A kind of pairs and its words.
struct Relation {
    id: &'static str,
    heading: &'static str,
    caption: &'static str,
    /// `preempted`, between two names.
    verb: &'static str,
    rows_name: &'static str,
    columns_name: &'static str,
    /// Columns of the table after the names.
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
    heading: "Who preempts whom",
    caption: "How often the task of a row took the CPU from the task of a column, which could have gone on.",
    verb: "preempted",
    rows_name: "Took the CPU",
    columns_name: "from",
    from: "Took the CPU",
    to: "From",
    detail: "Then waited in all",
    detail_is_time: true,
    nobody: "idle",
    pairs: |trace| {
        let pairs = trace.preemptions.iter();
        pairs
            .map(|row| ThreadPair { from: row.by_tid, to: row.of_tid, count: row.count, detail: row.ns })
            .collect()
    },
    field: fields::PREEMPTIONS,
};

const WAKES: Relation = Relation {
    id: "wakes",
    heading: "Who wakes whom",
    caption: "How often the task of a row woke the task of a column. Two that wake each other in turn hand something to and fro.",
    verb: "woke",
    rows_name: "Woke",
    columns_name: "whom",
    from: "Woke",
    to: "Whom",
    detail: "Ran on the waker’s CPU",
    detail_is_time: false,
    nobody: "an interrupt while idle",
    pairs: |trace| {
        let pairs = trace.wakes.iter();
        pairs
            .map(|row| ThreadPair {
                from: row.waker_tid,
                to: row.wakee_tid,
                count: row.count,
                detail: row.same_cpu,
            })
            .collect()
    },
    field: fields::WAKES,
};

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let mut section = Section::bare("pairs", "Who preempts and wakes whom");
    for kind in [&PREEMPTIONS, &WAKES] {
        section.heading(kind.heading);
        for (i, named) in subjects.iter() {
            let pairs = (kind.pairs)(&named.trace);
            if !pairs.is_empty() {
                section.put([figure(subjects, i, kind, &pairs)]);
            }
        }
        let about = |field: &Field| field.is_of(slice::from_ref(&kind.field));
        // Nothing counted is a finding; nothing countable has a reason.
        let seen = |named: &NamedTrace| {
            let missing = named.unavailable();
            !(kind.pairs)(&named.trace).is_empty() || !missing.iter().any(|row| about(&row.field))
        };
        section.put(subjects.lacking("such pairs", about, seen));
        for (i, named) in subjects.iter() {
            if seen(named) && (kind.pairs)(&named.trace).is_empty() {
                let text = subjects.prefixed(i, &format!("No task {} another.", kind.verb));
                section.say(text);
            }
        }
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
        let mut tids: Vec<u32> = pairs.iter().flat_map(|pair| [pair.from, pair.to]).collect();
        tids.sort_unstable();
        tids.dedup();
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

fn figure(subjects: Traces<'_>, index: usize, kind: &Relation, pairs: &[ThreadPair]) -> Figure {
    let names = Names::new(&subjects.0[index].trace, pairs, kind.nobody);
    let squares = [MOST, MOST_NARROW].map(|most| square(kind, pairs, &names, most));
    let several = if subjects.several() { format!("-{index}") } else { String::new() };
    let caption = subjects.prefixed(index, kind.caption);
    let table = table(kind, pairs, &names, &subjects.prefixed(index, kind.heading));
    let mut figure = Figure::new(format!("figure-{}{several}", kind.id), caption, table, |size| {
        let [wide, narrow] = &squares;
        size.pick(wide, narrow).draw(size)
    });
    if names.together {
        figure = figure.note("Tasks of the same name are put together; the table has each thread.");
    }
    figure
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
    let mut sums: HashMap<(usize, usize), u64> = HashMap::new();
    for ((from, to), count) in counts {
        let at = |name: &str| place.get(name).copied().unwrap_or(others);
        *sums.entry((at(&from), at(&to))).or_default() += count;
    }
    let mut cells: Vec<matrix::Cell> = sums
        .into_iter()
        .map(|((row, column), count)| {
            let tip = vec![
                format!("{} {} {}", shown[row], kind.verb, shown[column]),
                format!("{} times", text::count(count)),
            ];
            matrix::Cell { row, column, count, tip }
        })
        .collect();
    cells.sort_by_key(|cell| (cell.row, cell.column));
    Matrix {
        names: shown,
        cells,
        rows_name: kind.rows_name,
        columns_name: kind.columns_name,
        label: format!("{}, as a square of counts", kind.heading),
    }
}

fn table(kind: &Relation, pairs: &[ThreadPair], names: &Names<'_>, title: &str) -> Table {
    let mut sorted: Vec<&ThreadPair> = pairs.iter().collect();
    sorted.sort_by_key(|pair| (std::cmp::Reverse(pair.count), pair.from, pair.to));
    let rest = sorted.split_off(sorted.len().min(MOST_ROWS));
    let caption =
        if rest.is_empty() { title.to_owned() } else { format!("{title}: the most frequent pairs") };
    let mut table = Table::new(caption, kind.from).sortable();
    let detail = |value: Option<u64>| {
        if kind.detail_is_time { Cell::time(kind.detail, value) } else { Cell::count(kind.detail, value) }
    };
    for pair in &sorted {
        let to = Cell::text(kind.to, names.exact(pair.to));
        table.row(names.exact(pair.from), vec![to, Cell::count("Times", pair.count), detail(pair.detail)]);
    }
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|pair| pair.count).sum();
        let of: Option<u64> = rest.iter().map(|pair| pair.detail).sum();
        let head = format!("{} more pairs", text::count(rest.len() as u64));
        table.sum(head, vec![Cell::text("", ""), Cell::count("Times", count), detail(of)]);
    }
    table
}
