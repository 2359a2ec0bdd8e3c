//! What stands out in a Trace, and what to try.

mod functions;
mod interrupts;
mod waits;

use crate::bill::{Bill, Inputs};
use crate::front::Front;
use crate::model::{HandOver, Range};
use crate::spinning::{SpinningProcess, spinning_processes};
use crate::waits::Waits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use swtch_trace::tables::{TaskRow, WakeRow};
use swtch_units::format_ns;

/// Something that stands out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// What it is, in a few words.
    pub what: String,
    /// What in this Trace shows it.
    pub evidence: String,
    /// What to try.
    pub try_this: String,
    /// Time of the switches (or interrupts) concerned, as a share of the tasks' CPU time. Absent where no price is known, or where the
    /// advice is about waiting. It does not bound what the change saves, and no rule does: see [`Self::saving`].
    pub cost: Option<Range>,
    /// Why no figure bounds the CPU time that the change saves. A program's own code around its switches, and threads that spin while they
    /// wait, look like work in a Trace.
    pub saving: String,
    /// Waiting in run queues that the change takes away at most, ns; absent where CPU time is concerned.
    pub saves_wait_ns: Option<u64>,
}

/// What stands out, by [`Advice::what`].
pub mod stands_out {
    /// Threads wait for CPUs behind each other.
    pub const MORE_THREADS_THAN_CPUS: &str = "more runnable threads than CPUs";
    /// Threads that wait for each other do it on the CPUs that the last one needs.
    pub const WAITING_ON_CPUS: &str = "threads that wait hold the CPUs that others need";
    /// Two tasks hand over, and run on two CPUs.
    pub const WAKING_ACROSS_CPUS: &str = "two tasks wake each other across CPUs";
    /// Two tasks hand over, and run on one CPU.
    pub const TAKING_TURNS: &str = "two tasks take turns on one CPU";
    /// Several threads hand over to each other.
    pub const HANDED_ROUND: &str = "a lock or a queue is handed round";
    /// A quota stops the tasks.
    pub const THROTTLED: &str = "the cgroup's quota stops it";
    /// Programs that were not recorded had the CPUs.
    pub const OTHERS_IN_FRONT: &str = "other programs were in front";
    /// Devices interrupt the tasks.
    pub const INTERRUPTS: &str = "device interrupts are on the CPU that the tasks use most";
}

/// Below these, nothing stands out.
const LEAST_SHARE_OF_SWITCHES: f64 = 0.2;
const LEAST_WAIT_PER_RUN: f64 = 0.5;
const LEAST_RUNNABLE_PER_CPU: f64 = 1.2;
const LEAST_WAKES: u64 = 100;
/// Above this, the wake-ups within a process are those of two threads.
const MOST_SHARE_OF_TWO: f64 = 0.9;
/// Above this, one thread makes nearly all wake-ups within a process: it dispatches work to the others.
const MOST_SHARE_OF_ONE: f64 = 0.9;
/// A lock whose hand-overs took less of the CPU time than this does not matter.
const LEAST_HAND_OVERS: f64 = 0.01;
const LEAST_THROTTLED: f64 = 0.05;
/// Waits that are a smaller part of the recording than this are not worth a change to other programs.
const LEAST_WAIT_OF_DURATION: f64 = 0.05;

/// Processes whose threads wait on CPUs, those that waited longest.
const MOST_SPINNING: usize = 2;

/// Of all that saves hand-overs.
const HAND_OVER_SAVING: &str =
    "The saving cannot be bounded: the program's own code around each hand-over goes with it";

/// What stands out: about waits and about switches, each with the most that is concerned first.
pub fn advise(inputs: Inputs<'_>, bill: &Bill) -> Vec<Advice> {
    let tasks: Vec<&TaskRow> = inputs.trace.in_scope().collect();
    let switches: u64 = tasks.iter().map(|task| task.switches()).sum();
    if switches == 0 {
        return Vec::new();
    }
    let case = Case { inputs, bill, tasks, switches: switches as f64, front: Front::of(inputs) };
    let spinning = case.waiting_on_cpus();
    let throttled = case.throttled();
    let found = [
        // They are too many too, and for more of a reason.
        if spinning.is_empty() { case.too_many_threads() } else { None },
        case.ping_pong(),
        case.taking_turns(),
        case.handed_round(),
        throttled.clone().filter(|one| one.saves_wait_ns.is_none()),
        interrupts::on_the_busy_cpu(inputs, bill),
    ];
    let mut of_waits = waits::shorter_waits(inputs, bill);
    of_waits.extend(throttled.filter(|one| one.saves_wait_ns.is_some()));
    of_waits.sort_by_key(|one| Reverse(one.saves_wait_ns));
    of_waits.extend(case.others_in_front());
    let mut of_switches: Vec<Advice> = found.into_iter().flatten().collect();
    let cost = |one: &Advice| one.cost.map_or(0.0, Range::middle);
    of_switches.sort_by(|one, other| cost(other).total_cmp(&cost(one)));
    // The worse of the two headlines decides which comes first. Threads that wait on CPUs are the cause of both.
    if bill.waits.as_ref().is_some_and(|waits| waits.are_worse_than(bill.direct_ns)) {
        [spinning, of_waits, of_switches].concat()
    } else {
        [spinning, of_switches, of_waits].concat()
    }
}

/// Two tasks that wake each other.
struct WakingPair {
    tids: (u32, u32),
    /// How often, both ways.
    wakes: u64,
    /// How many of these went to another CPU.
    across: u64,
}

struct Case<'a> {
    inputs: Inputs<'a>,
    bill: &'a Bill,
    tasks: Vec<&'a TaskRow>,
    switches: f64,
    /// The tasks and programs that ran while the tasks waited. Absent when the Trace does not say, or when all tasks are recorded.
    front: Option<Front>,
}

impl Case<'_> {
    /// What some of the switches took: their part of the bill.
    fn cost(&self, switches: u64) -> Option<Range> {
        let share = self.bill.share?;
        Some(share.times((switches as f64 / self.switches).min(1.0)))
    }

    /// Time of hand-overs, each a wake-up and the switches to either side of it. The lower bound is their part of the bill, which has the
    /// switches alone. The upper bound adds a whole hand-over of the Profile with its system calls, where it has one, and the refilling of caches.
    fn hand_overs(&self, switches: u64, near: u64, across: u64) -> Option<Range> {
        let cost = self.cost(switches)?;
        let Some(HandOver { same_cpu_ns, other_cpu_ns }) =
            self.inputs.model.and_then(|model| model.hand_over)
        else {
            return Some(cost);
        };
        let whole_ns = near as f64 * same_cpu_ns + across as f64 * other_cpu_ns.unwrap_or(same_cpu_ns);
        let part = (switches as f64 / self.switches).min(1.0);
        let refill_ns = self.bill.indirect_ns.map_or(0.0, |indirect| indirect.high * part);
        let whole = (whole_ns + refill_ns) / self.bill.cpu_ns.max(1.0);
        Some(Range { low: cost.low, high: whole.max(cost.high).min(1.0) })
    }

    fn run_ns(&self) -> f64 {
        self.tasks.iter().map(|task| task.run_ns as f64).sum()
    }

    fn wait_ns(&self) -> f64 {
        self.tasks.iter().map(|task| task.wait_ns as f64).sum()
    }

    fn cpus(&self) -> f64 {
        let online = self.inputs.trace.header.host.cpus.iter().filter(|cpu| cpu.online).count();
        (online as f64).max(1.0)
    }

    fn name(&self, tid: u32) -> String {
        let named = self.inputs.trace.tasks.iter().find(|task| task.tid == tid);
        named.map_or_else(|| format!("tid {tid}"), |task| format!("{} ({tid})", task.comm))
    }

    /// The functions in which tasks of these numbers give up their CPU, as the end of a piece of evidence.
    fn functions_of(&self, tids: &[u32]) -> String {
        let tasks = self.tasks.iter().filter(|task| tids.contains(&task.tid));
        let names: BTreeSet<&str> = tasks.map(|task| task.comm.as_str()).collect();
        functions::of_sleepers(&self.inputs.trace.stacks, &names)
    }

    /// Tasks that wait mostly behind programs that were not recorded.
    fn others_in_front(&self) -> Option<Advice> {
        let front = self.front.as_ref().filter(|front| front.mostly_others())?;
        let (run_ns, wait_ns) = (self.run_ns(), self.wait_ns());
        let duration_ns = self.inputs.trace.header.duration_ns as f64;
        if wait_ns < LEAST_WAIT_PER_RUN * run_ns || wait_ns < LEAST_WAIT_OF_DURATION * duration_ns {
            return None;
        }
        let ran = front.ran.map_or(String::new(), |ran| {
            format!("other programs ran for {:.0} % of the CPUs' time; ", 100.0 * ran)
        });
        let names = match &front.names[..] {
            [] => String::new(),
            names => format!("; in front most: {}", names.join(", ")),
        };
        Some(Advice {
            what: stands_out::OTHERS_IN_FRONT.to_owned(),
            evidence: format!(
                "{ran}for every second these tasks ran they waited {:.1} s, {:.0} % of it behind other programs{names}",
                wait_ns / run_ns.max(1.0),
                100.0 * front.others
            ),
            try_this: "the other programs at another time or on other CPUs (taskset, cpuset), or a larger share for this one (nice, \
                       cpu.weight)"
                .to_owned(),
            cost: None,
            saving: "It shortens waits; the CPU time it saves cannot be bounded".to_owned(),
            saves_wait_ns: None,
        })
    }

    /// More threads that wait on CPUs than there are CPUs for them.
    fn waiting_on_cpus(&self) -> Vec<Advice> {
        let trace = self.inputs.trace;
        let found = spinning_processes(trace, trace.header.duration_ns);
        let advice = |one: &SpinningProcess| Advice {
            what: stands_out::WAITING_ON_CPUS.to_owned(),
            evidence: one.evidence(trace),
            try_this: one.remedy(trace),
            cost: self.cost(one.involuntary),
            saving: "The saving cannot be bounded: how long the last thread then takes is not in a recording"
                .to_owned(),
            saves_wait_ns: None,
        };
        found.iter().take(MOST_SPINNING).map(advice).collect()
    }

    fn too_many_threads(&self) -> Option<Advice> {
        // Fewer threads would wait behind the same programs.
        if self.front.as_ref().is_some_and(Front::mostly_others) {
            return None;
        }
        let involuntary: u64 = self.tasks.iter().map(|task| task.involuntary).sum();
        let (run_ns, wait_ns) = (self.run_ns(), self.wait_ns());
        let often = involuntary as f64 > LEAST_SHARE_OF_SWITCHES * self.switches;
        let duration_ns = (self.inputs.trace.header.duration_ns as f64).max(1.0);
        let runnable = (run_ns + wait_ns) / duration_ns;
        if !often || wait_ns < LEAST_WAIT_PER_RUN * run_ns || runnable < LEAST_RUNNABLE_PER_CPU * self.cpus()
        {
            return None;
        }
        let busy: HashSet<u32> =
            self.tasks.iter().filter(|task| task.run_ns > 0).map(|task| task.tid).collect();
        Some(Advice {
            what: stands_out::MORE_THREADS_THAN_CPUS.to_owned(),
            evidence: format!(
                "{:.1} threads were runnable at a time, {} took part, and there are {} CPUs; for every second they ran they waited \
                 {:.1} s, and {:.0} % of the switches took the CPU from a thread that could go on",
                runnable,
                busy.len(),
                self.cpus(),
                wait_ns / run_ns,
                100.0 * involuntary as f64 / self.switches
            ),
            try_this: format!(
                "as many worker threads as CPUs ({}), or longer slices: the class batch (chrt -b 0 COMMAND)",
                self.cpus()
            ),
            cost: self.cost(involuntary),
            saving:
                "The saving cannot be bounded: threads that spin while they wait look like threads that work"
                    .to_owned(),
            saves_wait_ns: None,
        })
    }

    /// The two tasks that wake each other most, mostly on two CPUs (`apart`) or mostly on one.
    fn pair(&self, apart: bool) -> Option<WakingPair> {
        let counts: HashMap<(u32, u32), &WakeRow> =
            self.inputs.trace.wakes.iter().map(|wake| ((wake.waker_tid, wake.wakee_tid), wake)).collect();
        let pairs = self.inputs.trace.wakes.iter().filter(|wake| wake.waker_tid < wake.wakee_tid);
        let pairs = pairs.filter_map(|there| {
            let back = counts.get(&(there.wakee_tid, there.waker_tid))?;
            let wakes = there.count + back.count;
            let across = wakes.saturating_sub(there.same_cpu? + back.same_cpu?);
            let often = there.count.min(back.count) >= LEAST_WAKES;
            let tids = (there.waker_tid, there.wakee_tid);
            (often && (2 * across > wakes) == apart).then_some(WakingPair { tids, wakes, across })
        });
        let most = pairs.max_by_key(|pair| (if apart { pair.across } else { pair.wakes }, pair.tids))?;
        (most.wakes as f64 >= LEAST_SHARE_OF_SWITCHES * self.switches).then_some(most)
    }

    /// Two tasks that wake each other on two CPUs.
    fn ping_pong(&self) -> Option<Advice> {
        let WakingPair { tids, wakes, across } = self.pair(true)?;
        let (one, other) = (self.name(tids.0), self.name(tids.1));
        Some(Advice {
            what: stands_out::WAKING_ACROSS_CPUS.to_owned(),
            evidence: format!(
                "{one} and {other} woke each other {wakes} times, {across} of them on two CPUs{}",
                self.functions_of(&[tids.0, tids.1])
            ),
            try_this: "one CPU for both, if only one of them works at a time (taskset -c CPU), or fewer, larger messages between them"
                .to_owned(),
            cost: self.hand_overs(wakes, wakes - across, across),
            saving: HAND_OVER_SAVING.to_owned(),
            saves_wait_ns: None,
        })
    }

    /// Two tasks that wake each other on one CPU, where only one of them can work at a time anyway.
    fn taking_turns(&self) -> Option<Advice> {
        let WakingPair { tids, wakes, across } = self.pair(false)?;
        let (one, other) = (self.name(tids.0), self.name(tids.1));
        Some(Advice {
            what: stands_out::TAKING_TURNS.to_owned(),
            evidence: format!(
                "{one} and {other} woke each other {wakes} times, {} of them on one CPU; there and back again takes two switches{}",
                wakes - across,
                self.functions_of(&[tids.0, tids.1])
            ),
            try_this: "several items each time they hand over, or the work of both in one thread".to_owned(),
            cost: self.hand_overs(wakes, wakes - across, across),
            saving: HAND_OVER_SAVING.to_owned(),
            saves_wait_ns: None,
        })
    }

    /// Threads of one process that wake one another, more than two of them.
    fn handed_round(&self) -> Option<Advice> {
        let pid: HashMap<u32, u32> = self.tasks.iter().map(|task| (task.tid, task.pid)).collect();
        let mut by_process: HashMap<u32, Round> = HashMap::new();
        for wake in &self.inputs.trace.wakes {
            let (Some(waker), Some(wakee)) = (pid.get(&wake.waker_tid), pid.get(&wake.wakee_tid)) else {
                continue;
            };
            if waker == wakee {
                by_process.entry(*waker).or_default().add(wake);
            }
        }
        let (pid, round) = by_process.into_iter().max_by_key(|(pid, round)| (round.count, *pid))?;
        let Round { count, across, threads, wakers, pairs } = round;
        let cost = self.hand_overs(count, count - across, across);
        // A dispatcher wakes its workers, and they do not wake it or each other. Hand-overs that cost next to nothing are worth no change.
        let by_one = wakers.into_values().max().unwrap_or(0);
        if by_one as f64 > MOST_SHARE_OF_ONE * count as f64
            || cost.is_some_and(|cost| cost.high < LEAST_HAND_OVERS)
        {
            return None;
        }
        // Two threads that take turns do not form a round, even if a third thread starts them and waits for their end.
        let of_two = pairs.into_values().max().unwrap_or(0) as f64;
        if threads.len() < 3
            || of_two > MOST_SHARE_OF_TWO * count as f64
            || (count as f64) < LEAST_SHARE_OF_SWITCHES * self.switches
        {
            return None;
        }
        Some(Advice {
            what: stands_out::HANDED_ROUND.to_owned(),
            evidence: format!(
                "{} threads of {} woke one another {count} times, {:.0} % of the switches{}",
                threads.len(),
                self.name(pid),
                100.0 * count as f64 / self.switches,
                self.functions_of(&threads.iter().copied().collect::<Vec<_>>())
            ),
            try_this:
                "shorter critical sections, a lock for each part of the data, or work handed over in batches"
                    .to_owned(),
            cost,
            saving: HAND_OVER_SAVING.to_owned(),
            saves_wait_ns: None,
        })
    }

    fn throttled(&self) -> Option<Advice> {
        let throttled = self.inputs.trace.header.totals.throttled.as_ref()?;
        let share = throttled.throttled_periods as f64 / throttled.periods.max(1) as f64;
        let waited_ns = self.bill.waits.as_ref().map_or(0, Waits::behind_quota_ns);
        let saves_wait_ns = Some(waited_ns).filter(|ns| *ns > 0);
        (share >= LEAST_THROTTLED).then(|| Advice {
            what: stands_out::THROTTLED.to_owned(),
            evidence: format!(
                "in {} of {} periods, for {:.1} s in all",
                throttled.throttled_periods,
                throttled.periods,
                throttled.throttled_ns as f64 / 1e9
            ),
            try_this:
                "a larger quota (cpu.max, or cpu.cfs_quota_us), or as many threads as the quota has CPUs"
                    .to_owned(),
            cost: None,
            saving: saves_wait_ns.map_or_else(
                || "It shortens waits; the CPU time it saves cannot be bounded".to_owned(),
                |ns| format!("It takes away at most {} of waiting", format_ns(ns as f64)),
            ),
            saves_wait_ns,
        })
    }
}

/// How the threads of a process wake one another.
#[derive(Default)]
struct Round {
    count: u64,
    /// How many of these went to another CPU.
    across: u64,
    threads: HashSet<u32>,
    /// How many wake-ups each made.
    wakers: HashMap<u32, u64>,
    /// Both ways, by the smaller number and the larger.
    pairs: HashMap<(u32, u32), u64>,
}

impl Round {
    fn add(&mut self, wake: &WakeRow) {
        let (one, other) = (wake.waker_tid, wake.wakee_tid);
        self.count += wake.count;
        // Where nothing says on which CPU, the dearer kind is taken.
        self.across += wake.count.saturating_sub(wake.same_cpu.unwrap_or(0));
        self.threads.extend([one, other]);
        *self.wakers.entry(one).or_default() += wake.count;
        *self.pairs.entry((one.min(other), one.max(other))).or_default() += wake.count;
    }
}

#[cfg(test)]
mod tests;
