//! The columns of the table.

use super::cells::{UNKNOWN, percent, percent_range, printable, rate, some_time, time_range};
use super::groups::Grouping;
use super::rates::{Row, RowKey};
use super::window::CpuRates;
use std::cmp::Ordering;
use std::str::FromStr;

/// A line of the table: what a column takes its figure from.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Row(Row),
    Cpu(CpuRates),
}

impl Line {
    pub(super) fn key(&self) -> RowKey {
        match self {
            Self::Row(row) => row.key(),
            Self::Cpu(cpu) => RowKey::Cpu(cpu.cpu),
        }
    }
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Number of the task or the process.
    Pid,
    /// Name, or path.
    Name,
    /// Direct cost of its switches, percent of a processor.
    Cost,
    /// Direct cost of one switch.
    CostEach,
    /// Switches a second.
    Switches,
    /// Voluntary switches a second.
    Voluntary,
    /// Involuntary switches a second.
    Involuntary,
    /// Time in run queues, ms a second.
    Wait,
    /// 99 waits of 100 in the window were at most so long.
    WaitP99,
    /// The longest wait in the window.
    WaitMax,
    /// Share of a processor.
    Cpu,
    /// Wake-ups a second.
    Wakeups,
    /// Moves between processors a second.
    Migrations,
    /// Tasks in it.
    Tasks,
    /// Who preempted it most.
    PreemptedBy,
    /// Its control group.
    Cgroup,
    /// Number of the processor.
    CpuNumber,
    /// Switches from idle a second.
    FromIdle,
    /// Percent in programs.
    User,
    /// Percent in the kernel.
    System,
    /// Percent in hardware interrupts.
    Irq,
    /// Percent in soft interrupts.
    SoftIrq,
    /// Percent given to others by the hypervisor.
    Steal,
    /// Percent idle while a task waited for a device.
    IoWait,
    /// Percent idle.
    Idle,
    /// Events lost in the window.
    Lost,
}

use Column as C;

const TASKS: [Column; 15] = [
    C::Pid,
    C::Name,
    C::Cost,
    C::CostEach,
    C::Switches,
    C::Voluntary,
    C::Involuntary,
    C::Wait,
    C::WaitP99,
    C::WaitMax,
    C::Cpu,
    C::Wakeups,
    C::Migrations,
    C::PreemptedBy,
    C::Cgroup,
];
const PROCESSES: [Column; 16] = [
    C::Pid,
    C::Name,
    C::Tasks,
    C::Cost,
    C::CostEach,
    C::Switches,
    C::Voluntary,
    C::Involuntary,
    C::Wait,
    C::WaitP99,
    C::WaitMax,
    C::Cpu,
    C::Wakeups,
    C::Migrations,
    C::PreemptedBy,
    C::Cgroup,
];
const CGROUPS: [Column; 14] = [
    C::Tasks,
    C::Cost,
    C::CostEach,
    C::Switches,
    C::Voluntary,
    C::Involuntary,
    C::Wait,
    C::WaitP99,
    C::WaitMax,
    C::Cpu,
    C::Wakeups,
    C::Migrations,
    C::Name,
    C::PreemptedBy,
];
const CPUS: [Column; 11] = [
    C::CpuNumber,
    C::Switches,
    C::FromIdle,
    C::User,
    C::System,
    C::Irq,
    C::SoftIrq,
    C::Steal,
    C::IoWait,
    C::Idle,
    C::Lost,
];

/// Not a column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no column '{wish}'; the columns are {}", names())]
pub struct ParseColumnError {
    wish: String,
}

fn names() -> String {
    let columns = PROCESSES.iter().chain(&CPUS[2..]);
    columns.map(|column| column.shape().name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Column {
    type Err = ParseColumnError;

    fn from_str(text: &str) -> Result<Self, ParseColumnError> {
        let all = PROCESSES.iter().chain(&CPUS);
        let found = all.copied().find(|column| column.shape().name.eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| ParseColumnError { wish: text.to_owned() })
    }
}

/// How a column looks.
pub(super) struct Shape {
    /// As `--sort` calls it.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) width: u16,
    /// The smaller, the longer it stays when there is little room.
    pub(super) rank: u8,
    /// Text: to the left, and from A to Z. Everything else has the largest first.
    pub(super) is_text: bool,
    pub(super) help: &'static str,
}

impl Column {
    /// The columns of a kind of line, from left to right.
    pub(super) fn all(grouping: Grouping) -> &'static [Self] {
        match grouping {
            Grouping::Tasks => &TASKS,
            Grouping::Processes => &PROCESSES,
            Grouping::Cpus => &CPUS,
            Grouping::Cgroups => &CGROUPS,
        }
    }

    /// What a kind of line is sorted by until somebody chooses.
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

    pub(super) fn shape(self) -> Shape {
        let figure =
            |name, title, width, rank, help| Shape { name, title, width, rank, is_text: false, help };
        let text = |name, title, width, rank, help| Shape { name, title, width, rank, is_text: true, help };
        match self {
            Self::Pid => figure("pid", "PID", 7, 3, "number of the task or the process"),
            Self::Name => text("name", "NAME", 15, 0, "its name; of a control group its path"),
            Self::Cost => figure("cost", "COST%", 6, 1, "time in its switches, % of one CPU"),
            Self::CostEach => figure("cost-each", "COST/SW", 8, 7, "time of one switch"),
            Self::Switches => figure("switches", "SW/s", 8, 2, "switches a second"),
            Self::Voluntary => figure("voluntary", "VOL/s", 8, 10, "of those, it blocked or slept"),
            Self::Involuntary => figure("involuntary", "INV/s", 8, 8, "of those, it was preempted"),
            Self::Wait => {
                figure("wait", "WAITms/s", 8, 4, "time ready without a CPU, or throttled, ms a second")
            }
            Self::WaitP99 => {
                figure("p99", "WAITp99", 8, 6, "99 of 100 waits since the last look took at most this")
            }
            Self::WaitMax => figure("max", "WAITmax", 7, 9, "the longest wait since the last look"),
            Self::Cpu => figure("cpu", "CPU%", 6, 3, "time it ran, % of one CPU"),
            Self::Wakeups => figure("wakeups", "WAKE/s", 8, 11, "wake-ups a second"),
            Self::Migrations => figure("migrations", "MIG/s", 7, 12, "moves to another CPU a second"),
            Self::Tasks => figure("tasks", "TASKS", 5, 4, "tasks in it"),
            Self::PreemptedBy => {
                text("preempted", "PREEMPTED BY", 14, 5, "who took the CPU from it most, how often a second")
            }
            Self::Cgroup => text("cgroup", "CGROUP", 20, 11, "its control group"),
            Self::CpuNumber => figure("cpu-number", "CPU", 5, 0, "number of the processor"),
            Self::FromIdle => figure("from-idle", "IDLE/s", 8, 3, "switches from idle a second"),
            Self::User => figure("user", "USER%", 6, 2, "in programs"),
            Self::System => figure("system", "SYS%", 6, 2, "in the kernel"),
            Self::Irq => figure("irq", "IRQ%", 6, 4, "in hardware interrupts"),
            Self::SoftIrq => figure("softirq", "SOFT%", 6, 3, "in soft interrupts"),
            Self::Steal => figure("steal", "STEAL%", 6, 3, "given to others by the hypervisor"),
            Self::IoWait => figure("iowait", "IOW%", 6, 5, "idle while a task waited for a device"),
            Self::Idle => figure("idle", "IDLE%", 6, 3, "idle"),
            Self::Lost => figure("lost", "LOST", 7, 6, "events lost since the last look"),
        }
    }

    /// What stands in a line.
    pub(super) fn text(self, line: &Line) -> String {
        match line {
            Line::Row(row) => self.text_of(row),
            Line::Cpu(cpu) => self.text_of_cpu(cpu),
        }
    }

    fn text_of(self, row: &Row) -> String {
        let rates = &row.rates;
        match self {
            Self::Pid => {
                row.tid.or(row.pid).filter(|id| *id != 0).map_or_else(String::new, |id| id.to_string())
            }
            Self::Name if row.ended => format!("{} (ended)", printable(&row.name)),
            Self::Name => printable(&row.name),
            Self::Cost => percent_range(rates.cost_share),
            Self::CostEach if rates.cost_ns.is_none() && rates.cost_share.is_some() => "-".to_owned(),
            Self::CostEach => time_range(rates.cost_ns),
            Self::Switches => rate(Some(rates.switches_per_s())),
            Self::Voluntary => rate(Some(rates.voluntary_per_s)),
            Self::Involuntary => rate(Some(rates.involuntary_per_s)),
            Self::Wait => rate(rates.wait_share.map(|share| 1000.0 * share)),
            // Of several tasks the largest of theirs bounds it.
            Self::WaitP99 if row.tasks > 1 && rates.wait_p99_ns.is_some() => {
                format!("<={}", some_time(rates.wait_p99_ns, ""))
            }
            Self::WaitP99 => some_time(rates.wait_p99_ns, unmeasured(row)),
            Self::WaitMax => some_time(rates.wait_max_ns, unmeasured(row)),
            Self::Cpu => percent(Some(rates.cpu_share)),
            Self::Wakeups => rate(rates.wakeups_per_s),
            Self::Migrations => rate(rates.migrations_per_s),
            Self::Tasks => row.tasks.to_string(),
            Self::PreemptedBy => match row.preempted_by.as_deref() {
                None => UNKNOWN.to_owned(),
                Some([]) => String::new(),
                Some([first, ..]) => format!("{} {}/s", printable(&first.comm), rate(Some(first.per_s))),
            },
            Self::Cgroup => row.cgroup.as_deref().map_or_else(|| "?".to_owned(), printable),
            _ => String::new(),
        }
    }

    fn text_of_cpu(self, cpu: &CpuRates) -> String {
        let shares = &cpu.shares;
        match self {
            Self::CpuNumber => cpu.cpu.to_string(),
            Self::Switches => rate(cpu.switches_per_s),
            Self::FromIdle => rate(cpu.idle_switches_per_s),
            Self::Lost => cpu.lost.to_string(),
            _ => percent(self.share(shares)),
        }
    }

    fn share(self, shares: &super::window::CpuShares) -> Option<f64> {
        match self {
            Self::User => shares.user,
            Self::System => shares.system,
            Self::Irq => shares.irq,
            Self::SoftIrq => shares.softirq,
            Self::Steal => shares.steal,
            Self::IoWait => shares.iowait,
            Self::Idle => shares.idle,
            _ => None,
        }
    }

    fn figure(self, line: &Line) -> Option<f64> {
        match line {
            Line::Cpu(cpu) => match self {
                Self::CpuNumber => Some(f64::from(cpu.cpu)),
                Self::Switches => cpu.switches_per_s,
                Self::FromIdle => cpu.idle_switches_per_s,
                Self::Lost => Some(cpu.lost as f64),
                _ => self.share(&cpu.shares),
            },
            Line::Row(row) => {
                let rates = &row.rates;
                match self {
                    Self::Pid => row.tid.or(row.pid).map(f64::from),
                    Self::Cost => rates.cost_middle(),
                    Self::CostEach => rates.cost_ns.map(|range| f64::midpoint(range.low, range.high)),
                    Self::Switches => Some(rates.switches_per_s()),
                    Self::Voluntary => Some(rates.voluntary_per_s),
                    Self::Involuntary => Some(rates.involuntary_per_s),
                    Self::Wait => rates.wait_share,
                    Self::WaitP99 => rates.wait_p99_ns.map(|ns| ns as f64),
                    Self::WaitMax => rates.wait_max_ns.map(|ns| ns as f64),
                    Self::Cpu => Some(rates.cpu_share),
                    Self::Wakeups => rates.wakeups_per_s,
                    Self::Migrations => rates.migrations_per_s,
                    Self::Tasks => Some(row.tasks as f64),
                    // Who suffers most comes first, not whose tormentor has the first name.
                    Self::PreemptedBy => {
                        row.preempted_by.as_ref().map(|by| by.iter().map(|pair| pair.per_s).sum())
                    }
                    _ => None,
                }
            }
        }
    }

    /// Which of two lines comes first. What is not known comes last either way, and equals are told apart by their numbers, so that lines do
    /// not jump about.
    pub(super) fn order(self, one: &Line, other: &Line, reverse: bool) -> Ordering {
        let turned = |order: Ordering| if reverse == self.ascends() { order.reverse() } else { order };
        let found = if self.shape().is_text && self != Self::PreemptedBy {
            turned(self.text(one).cmp(&self.text(other)))
        } else {
            let turned = |order: Ordering| match self {
                Self::PreemptedBy if reverse => order,
                Self::PreemptedBy => order.reverse(),
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

/// A task that did not wait has no longest wait; one whose waits nobody saw has none either, for another reason.
fn unmeasured(row: &Row) -> &'static str {
    if row.preempted_by.is_none() && row.rates.migrations_per_s.is_none() { UNKNOWN } else { "-" }
}

fn number(line: &Line) -> (u32, String) {
    match line {
        Line::Row(row) => (row.tid.or(row.pid).unwrap_or(0), row.name.clone()),
        Line::Cpu(cpu) => (cpu.cpu, String::new()),
    }
}

/// The columns that fit, by rank, with their widths; the one sorted by stays. The last one that is text takes what is left.
pub(super) fn fitting(grouping: Grouping, sorted: Column, width: u16) -> Vec<(Column, u16)> {
    let all = Column::all(grouping);
    let mut wanted: Vec<Column> = all.to_vec();
    wanted.sort_by_key(|column| (*column != Column::Name && *column != sorted, column.shape().rank));
    let mut left = width;
    let mut chosen: Vec<Column> = Vec::new();
    for column in wanted {
        let takes = column.shape().width + u16::from(!chosen.is_empty());
        if takes <= left {
            left -= takes;
            chosen.push(column);
        }
    }
    let mut columns: Vec<(Column, u16)> = all
        .iter()
        .filter(|column| chosen.contains(column))
        .map(|column| (*column, column.shape().width))
        .collect();
    // Two names and a rate want some room; then the last text takes what is left.
    if let Some((column, width)) = columns.iter_mut().find(|(column, _)| *column == Column::PreemptedBy) {
        let more = left.min(28 - column.shape().width);
        *width += more;
        left -= more;
    }
    if let Some((_, width)) = columns.iter_mut().rev().find(|(column, _)| column.shape().is_text) {
        *width += left;
    }
    columns
}
