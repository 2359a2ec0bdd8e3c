//! `/proc/schedstat` (kernel/sched/stats.c, versions 15 to 17, Documentation/scheduler/sched-stats.rst).

use std::collections::BTreeMap;
use swtch_trace::model::Unavailable;

/// What the run queue of a processor counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunQueue {
    /// Calls of the scheduler; missing unless `kernel.sched_schedstats` is 1.
    pub schedules: Option<u64>,
    /// Those that left the processor idle; missing likewise.
    pub idle_schedules: Option<u64>,
    /// Wake-ups of threads onto this processor; missing likewise.
    pub wakeups: Option<u64>,
    /// Those whose waker ran on this processor; missing likewise.
    pub local_wakeups: Option<u64>,
    /// Time that threads ran, ns.
    pub run_ns: Option<u64>,
    /// Time that threads waited for their turn, ns.
    pub wait_ns: Option<u64>,
    /// Times that a thread got its turn.
    pub timeslices: Option<u64>,
}

impl RunQueue {
    pub(super) fn both(&self, other: &Self, operation: impl Fn(u64, u64) -> u64) -> Self {
        let both = |one: Option<u64>, other: Option<u64>| Some(operation(one?, other?));
        Self {
            schedules: both(self.schedules, other.schedules),
            idle_schedules: both(self.idle_schedules, other.idle_schedules),
            wakeups: both(self.wakeups, other.wakeups),
            local_wakeups: both(self.local_wakeups, other.local_wakeups),
            run_ns: both(self.run_ns, other.run_ns),
            wait_ns: both(self.wait_ns, other.wait_ns),
            timeslices: both(self.timeslices, other.timeslices),
        }
    }

    /// `YIELDS 0 SCHEDULES IDLE WAKEUPS LOCAL_WAKEUPS RUN_NS WAIT_NS TIMESLICES`.
    fn parse(fields: &str) -> Self {
        let numbers: Vec<Option<u64>> = fields.split_whitespace().map(|field| field.parse().ok()).collect();
        let number = |index: usize| numbers.get(index).copied().flatten();
        Self {
            schedules: number(2),
            idle_schedules: number(3),
            wakeups: number(4),
            local_wakeups: number(5),
            run_ns: number(6),
            wait_ns: number(7),
            timeslices: number(8),
        }
    }
}

/// The lines `cpuN ...`; those of scheduling domains are passed over.
pub(super) fn parse(text: &str) -> BTreeMap<u32, RunQueue> {
    text.lines()
        .filter_map(|line| {
            let (cpu, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
            Some((cpu.parse().ok()?, RunQueue::parse(fields)))
        })
        .collect()
}

/// Parses the file, or says why there is nothing.
pub(super) fn judged(
    text: Result<String, String>,
    unavailable: &mut Vec<Unavailable>,
) -> BTreeMap<u32, RunQueue> {
    let mut queues = match text {
        Ok(text) => parse(&text),
        Err(why) => {
            unavailable.push(Unavailable::new(
                "schedstat",
                format!("{why}; it takes a kernel with CONFIG_SCHEDSTATS"),
            ));
            return BTreeMap::new();
        }
    };
    if queues.is_empty() {
        unavailable.push(Unavailable::new("schedstat", "/proc/schedstat lists no processor"));
    } else if queues.values().all(|queue| queue.schedules.unwrap_or(0) == 0) {
        for queue in queues.values_mut() {
            (queue.schedules, queue.idle_schedules) = (None, None);
            (queue.wakeups, queue.local_wakeups) = (None, None);
        }
        unavailable.push(Unavailable::new(
            "schedstat.wakeups",
            "scheduler statistics are off; 'sysctl kernel.sched_schedstats=1' turns them on, at some cost a switch",
        ));
    }
    queues
}
