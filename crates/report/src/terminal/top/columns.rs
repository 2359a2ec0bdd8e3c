//! The columns of the table.

use super::cells::{UNKNOWN, percent, percent_range, printable, rate, some_time, time_range};
use super::groups::Grouping;
use super::rates::{Rates, RowKey, TopRow};
use super::window::CpuRates;
use std::cmp::Ordering;
use std::str::FromStr;

/// A line of the table: what a column takes its figure from.
#[derive(Clone, Debug)]
pub(super) enum TableLine {
    Row(TopRow),
    Cpu(CpuRates),
}

impl TableLine {
    pub(super) fn key(&self) -> RowKey {
        match self {
            Self::Row(row) => row.key(),
            Self::Cpu(cpu) => RowKey::Cpu(cpu.cpu),
        }
    }
}

/// What a column takes from a line, and how it says it.
#[derive(Clone, Copy)]
pub(super) enum Content {
    /// A figure of a row, and its words.
    Row(fn(&TopRow) -> Option<f64>, fn(Option<f64>) -> String),
    /// A figure of a CPU, and its words.
    Cpu(fn(&CpuRates) -> Option<f64>, fn(Option<f64>) -> String),
    /// A figure of either, and its words.
    Both(fn(&TopRow) -> Option<f64>, fn(&CpuRates) -> Option<f64>, fn(Option<f64>) -> String),
    /// A figure of a row to sort by; its words say more.
    Worded(fn(&TopRow) -> Option<f64>, fn(&TopRow) -> String),
    /// Text of a row, flush left. With a figure lines are sorted by that, and with the largest last where others have it first.
    Text(Option<fn(&TopRow) -> Option<f64>>, fn(&TopRow) -> String),
}

/// How a column looks.
pub(super) struct Shape {
    /// As `--sort` calls it.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) width: u16,
    /// The smaller, the longer it stays when there is little room.
    pub(super) rank: u8,
    pub(super) help: &'static str,
    content: Content,
    /// Text: to the left, and from A to Z. Everything else has the largest first.
    pub(super) is_text: bool,
}

macro_rules! columns {
    ($($column:ident: $name:literal $title:literal $width:literal $rank:literal $help:literal $content:expr;)* --
     $($lines:ident = $($of:ident)*;)*) => {
        /// A column of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TopColumn {
            $(#[doc = $help] $column,)*
        }

        impl TopColumn {
            pub(super) fn shape(self) -> Shape {
                let (name, title, width, rank, help, content) = match self {
                    $(Self::$column => ($name, $title, $width, $rank, $help, $content),)*
                };
                Shape { name, title, width, rank, help, content, is_text: matches!(content, Content::Text(..)) }
            }
        }

        $(const $lines: &[TopColumn] = &[$(TopColumn::$of),*];)*
    };
}

columns! {
    Pid: "pid" "PID" 7 3 "number of the task or the process" Content::Row(|row| row.tid.or(row.pid).map(f64::from), identifier);
    Name: "name" "NAME" 15 0 "its name" Content::Text(None, name);
    Tasks: "tasks" "TASKS" 5 4 "tasks in it" Content::Row(|row| Some(row.tasks as f64), whole);
    Cost: "cost" "COST%" 6 1 "time in its switches, % of one CPU"
        Content::Worded(|row| Some(row.rates.cost_share?.middle()), |row| percent_range(row.rates.cost_share));
    CostEach: "cost-each" "COST/SW" 8 7 "time of one switch" Content::Worded(|row| Some(row.rates.cost_ns?.middle()), cost_each);
    Switches: "switches" "SW/s" 8 2 "switches a second"
        Content::Both(|row| Some(row.rates.switches_per_s()), |cpu| cpu.switches_per_s, rate);
    Voluntary: "voluntary" "VOL/s" 8 10 "of those, it blocked or slept" Content::Row(|row| Some(row.rates.voluntary_per_s), rate);
    Involuntary: "involuntary" "INV/s" 8 8 "of those, it was preempted" Content::Row(|row| Some(row.rates.involuntary_per_s), rate);
    Wait: "wait" "WAITms/s" 8 4 "time ready without a CPU, or throttled, ms a second"
        Content::Row(|row| row.rates.wait_share, |share| rate(share.map(|share| 1000.0 * share)));
    WaitP99: "p99" "WAITp99" 8 6 "99 of 100 waits since the last update took at most this"
        Content::Worded(|row| row.rates.wait_p99_ns.map(|ns| ns as f64), wait_p99);
    WaitMax: "max" "WAITmax" 7 9 "the longest wait since the last update"
        Content::Worded(|row| row.rates.wait_max_ns.map(|ns| ns as f64), |row| some_time(row.rates.wait_max_ns, unmeasured(row)));
    Cpu: "cpu" "CPU%" 6 3 "time it ran, % of one CPU" Content::Row(|row| Some(row.rates.cpu_share), percent);
    Wakeups: "wakeups" "WAKE/s" 8 11 "wake-ups a second" Content::Row(|row| row.rates.wakeups_per_s, rate);
    Migrations: "migrations" "MIG/s" 7 12 "moves to another CPU a second" Content::Row(|row| row.rates.migrations_per_s, rate);
    PreemptedBy: "preempted" "PREEMPTED BY" 14 5 "the task that preempts it most, how often a second"
        Content::Text(Some(|row| row.preempted_by.as_ref().map(|by| by.iter().map(|pair| pair.per_s).sum())), preempted_by);
    Behind: "behind" "BEHIND" 14 4 "what had the CPU while it waited, and for how much of its waiting"
        Content::Text(Some(|row| row.behind.as_ref().map(|parts| parts.iter().map(|part| part.wait_share).sum())), behind);
    Cgroup: "cgroup" "CGROUP" 20 11 "its cgroup"
        Content::Text(None, |row| row.cgroup_name.as_deref().or(row.cgroup.as_deref()).map_or_else(|| "?".to_owned(), printable));
    CpuNumber: "cpu-number" "CPU" 5 0 "number of the CPU" Content::Cpu(|cpu| Some(f64::from(cpu.cpu)), whole);
    FromIdle: "from-idle" "IDLE/s" 8 3 "switches from idle a second" Content::Cpu(|cpu| cpu.idle_switches_per_s, rate);
    User: "user" "USER%" 6 2 "in programs" Content::Cpu(|cpu| cpu.shares.user, percent);
    System: "system" "SYS%" 6 2 "in the kernel" Content::Cpu(|cpu| cpu.shares.system, percent);
    Irq: "irq" "IRQ%" 6 4 "in hardware interrupts" Content::Cpu(|cpu| cpu.shares.irq, percent);
    SoftIrq: "softirq" "SOFT%" 6 3 "in soft interrupts" Content::Cpu(|cpu| cpu.shares.softirq, percent);
    Steal: "steal" "STEAL%" 6 3 "given to others by the hypervisor" Content::Cpu(|cpu| cpu.shares.steal, percent);
    IoWait: "iowait" "IOW%" 6 5 "idle while a task waited for a device" Content::Cpu(|cpu| cpu.shares.iowait, percent);
    Idle: "idle" "IDLE%" 6 3 "idle" Content::Cpu(|cpu| cpu.shares.idle, percent);
    Lost: "lost" "LOST" 7 6 "events lost since the last update" Content::Cpu(|cpu| Some(cpu.lost as f64), whole);
    --
    TASKS = Pid Name Cost CostEach Switches Voluntary Involuntary Wait WaitP99 WaitMax Cpu Wakeups Migrations Behind PreemptedBy Cgroup;
    PROCESSES = Pid Name Tasks Cost CostEach Switches Voluntary Involuntary Wait WaitP99 WaitMax Cpu Wakeups Migrations Behind PreemptedBy Cgroup;
    CGROUPS = Tasks Cost CostEach Switches Voluntary Involuntary Wait WaitP99 WaitMax Cpu Wakeups Migrations Behind PreemptedBy Name;
    CPUS = CpuNumber Switches FromIdle User System Irq SoftIrq Steal IoWait Idle Lost;
}

fn whole(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.0}"))
}

/// The number of a task; 0 is none.
fn identifier(value: Option<f64>) -> String {
    whole(value.filter(|value| *value > 0.0))
}

fn name(row: &TopRow) -> String {
    format!("{}{}", printable(row.title()), if row.ended { " (ended)" } else { "" })
}

fn cost_each(row: &TopRow) -> String {
    let Rates { cost_ns, cost_share, .. } = row.rates;
    if cost_ns.is_none() && cost_share.is_some() { "-".to_owned() } else { time_range(cost_ns) }
}

fn wait_p99(row: &TopRow) -> String {
    let ns = row.rates.wait_p99_ns;
    // Of several tasks the largest of theirs bounds it.
    let bound = if row.tasks > 1 && ns.is_some() { "<=" } else { "" };
    format!("{bound}{}", some_time(ns, unmeasured(row)))
}

fn preempted_by(row: &TopRow) -> String {
    match row.preempted_by.as_deref() {
        None => UNKNOWN.to_owned(),
        Some([]) => String::new(),
        Some([first, ..]) => format!("{} {}/s", printable(&first.comm), rate(Some(first.per_s))),
    }
}

fn behind(row: &TopRow) -> String {
    match row.behind.as_deref() {
        None => UNKNOWN.to_owned(),
        Some([]) => String::new(),
        Some(parts @ [first, ..]) => {
            let all: f64 = parts.iter().map(|part| part.wait_share).sum();
            format!(
                "{} {:.0} %",
                printable(first.name()),
                100.0 * first.wait_share / all.max(f64::MIN_POSITIVE)
            )
        }
    }
}

/// Not a column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no column '{wish}'; the columns are {}", names())]
pub struct ParseTopColumnError {
    wish: String,
}

fn names() -> String {
    let columns = PROCESSES.iter().chain(&CPUS[2..]);
    columns.map(|column| column.shape().name).collect::<Vec<_>>().join(", ")
}

impl FromStr for TopColumn {
    type Err = ParseTopColumnError;

    fn from_str(text: &str) -> Result<Self, ParseTopColumnError> {
        let all = PROCESSES.iter().chain(CPUS);
        let found = all.copied().find(|column| column.shape().name.eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| ParseTopColumnError { wish: text.to_owned() })
    }
}

impl TopColumn {
    /// The columns of a kind of line, from left to right.
    pub(super) fn all(grouping: Grouping) -> &'static [Self] {
        match grouping {
            Grouping::Tasks => TASKS,
            Grouping::Processes => PROCESSES,
            Grouping::Cpus => CPUS,
            Grouping::Cgroups => CGROUPS,
        }
    }

    /// The column that a kind of line is sorted by until the user chooses one.
    pub(super) fn default_of(grouping: Grouping, cost_is_known: bool) -> Self {
        match grouping {
            Grouping::Cpus => Self::CpuNumber,
            _ if cost_is_known => Self::Cost,
            _ => Self::Switches,
        }
    }

    /// Whether what comes first is the smallest.
    pub(super) fn ascends(self) -> bool {
        self.shape().is_text || matches!(self, Self::Pid | Self::CpuNumber)
    }

    /// The contents of a line.
    pub(super) fn text(self, line: &TableLine) -> String {
        match (self.shape().content, line) {
            (Content::Row(of, words) | Content::Both(of, _, words), TableLine::Row(row)) => words(of(row)),
            (Content::Cpu(of, words) | Content::Both(_, of, words), TableLine::Cpu(cpu)) => words(of(cpu)),
            (Content::Worded(_, words) | Content::Text(_, words), TableLine::Row(row)) => words(row),
            _ => String::new(),
        }
    }

    fn figure(self, line: &TableLine) -> Option<f64> {
        match (self.shape().content, line) {
            (Content::Row(of, _) | Content::Both(of, ..) | Content::Worded(of, _), TableLine::Row(row)) => {
                of(row)
            }
            (Content::Cpu(of, _) | Content::Both(_, of, _), TableLine::Cpu(cpu)) => of(cpu),
            (Content::Text(Some(of), _), TableLine::Row(row)) => of(row),
            _ => None,
        }
    }

    /// The order of two lines. An unknown figure comes last in both directions. Lines with equal figures are ordered by their numbers, so that
    /// they do not jump about.
    pub(super) fn order(self, one: &TableLine, other: &TableLine, reverse: bool) -> Ordering {
        let turned = |order: Ordering| if reverse == self.ascends() { order.reverse() } else { order };
        let by_figure = matches!(self.shape().content, Content::Text(Some(_), _));
        let found = if self.shape().is_text && !by_figure {
            turned(self.text(one).cmp(&self.text(other)))
        } else {
            let turned = |order: Ordering| match (by_figure, reverse) {
                (true, true) => order,
                (true, false) => order.reverse(),
                _ => turned(order),
            };
            match (self.figure(one), self.figure(other)) {
                (Some(one), Some(other)) => turned(one.total_cmp(&other)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            }
        };
        found.then_with(|| number(one).cmp(&number(other)))
    }
}

/// The text for a task without a longest wait. A task that did not wait and one whose waits were not measured have different texts.
fn unmeasured(row: &TopRow) -> &'static str {
    if row.preempted_by.is_none() && row.rates.migrations_per_s.is_none() { UNKNOWN } else { "-" }
}

fn number(line: &TableLine) -> (u32, String) {
    match line {
        TableLine::Row(row) => (row.tid.or(row.pid).unwrap_or(0), row.name.clone()),
        TableLine::Cpu(cpu) => (cpu.cpu, String::new()),
    }
}

/// The columns that fit, by rank, with their widths; the one sorted by stays. The last one that is text takes what is left.
pub(super) fn fitting(grouping: Grouping, sorted: TopColumn, width: u16) -> Vec<(TopColumn, u16)> {
    let all = TopColumn::all(grouping);
    let mut wanted: Vec<TopColumn> = all.to_vec();
    wanted.sort_by_key(|column| (*column != TopColumn::Name && *column != sorted, column.shape().rank));
    let mut left = width;
    let mut chosen: Vec<TopColumn> = Vec::new();
    for column in wanted {
        let takes = column.shape().width + u16::from(!chosen.is_empty());
        if takes <= left {
            left -= takes;
            chosen.push(column);
        }
    }
    let mut columns: Vec<(TopColumn, u16)> = all
        .iter()
        .filter(|column| chosen.contains(column))
        .map(|column| (*column, column.shape().width))
        .collect();
    // A name and a figure want some room; then the last text takes what is left.
    let names = [TopColumn::Behind, TopColumn::PreemptedBy];
    for (column, width) in columns.iter_mut().filter(|(column, _)| names.contains(column)) {
        let more = (left / 2).min(28 - column.shape().width);
        *width += more;
        left -= more;
    }
    if let Some((_, width)) = columns.iter_mut().rev().find(|(column, _)| column.shape().is_text) {
        *width += left;
    }
    columns
}
