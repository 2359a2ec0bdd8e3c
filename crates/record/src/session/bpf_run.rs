//! A recording by BPF programs that write down every event.

use super::group_names::GroupNames;
use super::header::unavailable;
use super::members::Members;
use super::{Progress, Run};
use crate::clock::{monotonic_ns, process_cpu_ns};
use crate::error::RecordError;
use crate::options::{Cost, Options, Target};
use crate::sources::bpf::{Bpf, EVENT_BYTES, Line, Losses, Wish};
use crate::system::{Cgroup, Hierarchy};
use crate::task_info;
use std::collections::BTreeMap;
use std::time::Duration;
use swtch_topology::Host;
use swtch_trace::accumulate::{Accumulator, CacheGroups, Late, Tables};
use swtch_trace::event::{Event, Life, PrevState, Switch};
use swtch_trace::model::{Header, Lost, RecorderCost};
use swtch_trace::tables::{InterruptKind, InterruptRow, SwitchRow};

/// Memory for unread events: so much a CPU, and at most so much in all, unless asked otherwise.
const BUFFER_BYTES_PER_CPU: u64 = 16 << 20;
const MOST_BUFFER_BYTES: u64 = 256 << 20;
/// Events that wait for earlier ones are held in memory, at most so many. Beyond, the older half goes on, and earlier ones are late.
const MOST_HELD: usize = 2 << 20;
/// At the end, a CPU that is in the middle of a switch is waited for so long, ns: a hypervisor may have taken it.
const LAST_WAIT_NS: u64 = 2_000_000_000;
/// How often tasks whose end was lost are looked for, and how long nothing may have been heard of them, ns.
pub(super) const SWEEP_EVERY_NS: u64 = 60_000_000_000;
/// Between two looks, at least and at most. Who looks takes a CPU from the workload, and some of its caches: seldom costs less.
pub(super) const PERIODS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// As long as that where the buffer holds what may come meanwhile, even when it suddenly comes as fast as it can: some 2 million events a second and CPU.
const LONGEST_PERIOD: Duration = Duration::from_millis(200);
const MOST_EVENTS_PER_S: u64 = 2_000_000;

pub(super) struct BpfRun {
    bpf: Bpf,
    accumulator: Accumulator,
    /// Seen, and not yet old enough to be in order.
    held: Vec<Event>,
    /// When the last of the programs was attached, ns. They are attached one after another: before that, some see and others do not.
    attached_ns: u64,
    /// Everything before this moment has been taken, ns.
    horizon_ns: u64,
    ready: Vec<SwitchRow>,
    period: Duration,
    longest_period: Duration,
    members: Members,
    groups: GroupNames,
    asked: Cost,
    scoped: bool,
    /// When tasks whose end was lost were last looked for.
    swept_ns: u64,
}

impl BpfRun {
    pub(super) fn begin(
        options: &Options,
        group: Option<&Cgroup>,
        header: &mut Header,
    ) -> Result<Self, RecordError> {
        let scoped = options.target != Target::Machine;
        let cpus = header.host.cpus.len().max(1) as u64;
        let in_all = options.buffer_bytes.unwrap_or(MOST_BUFFER_BYTES.min(BUFFER_BYTES_PER_CPU * cpus));
        let groups = GroupNames::begin();
        let bpf = Bpf::load(Wish {
            buffer_bytes: in_all / cpus,
            scoped,
            cpu_hierarchy: groups.is_of_cpu(),
            in_place: options.cost == Cost::InPlace,
        })?;
        let start_ns = header.provenance.started_monotonic_ns;
        let accumulator = Accumulator::new(start_ns, cache_groups(&header.host), scoped);
        let mut run = Self {
            bpf,
            accumulator,
            held: Vec::new(),
            attached_ns: start_ns,
            horizon_ns: start_ns,
            ready: Vec::new(),
            period: PERIODS.0,
            longest_period: longest_period(in_all / cpus),
            members: Members::of(&options.target, group),
            groups,
            asked: options.cost,
            scoped,
            swept_ns: start_ns,
        };
        if scoped {
            // Those that are made between the two are children of some that are there.
            run.attach()?;
        }
        let there = run.members.tids();
        run.follow(&there);
        if !scoped {
            // The list only names them; events that come meanwhile would be none of the recording.
            run.attach()?;
        }
        Ok(run)
    }

    fn attach(&mut self) -> Result<(), RecordError> {
        self.bpf.attach()?;
        self.attached_ns = monotonic_ns();
        Ok(())
    }

    /// Follows tasks that were there before the programs, or came otherwise than by birth. Those that they make meanwhile are followed too.
    fn follow(&mut self, tids: &[u32]) {
        for tid in tids {
            self.bpf.follow(*tid);
            if let Some(known) = task_info::task(*tid, self.groups.hierarchy()) {
                self.accumulator.follow(&known);
            }
        }
    }

    /// The tasks that are recorded now; none when all are.
    pub(super) fn members(&self) -> Vec<u32> {
        self.accumulator.members()
    }

    /// Takes what is older than `horizon_ns`, in order.
    fn take(&mut self, horizon_ns: u64) {
        // Nearly sorted already, ring by ring: a merge.
        self.held.sort_by_key(Event::at_ns);
        let mut old = self.held.partition_point(|event| event.at_ns() < horizon_ns);
        self.horizon_ns = self.horizon_ns.max(horizon_ns);
        if self.held.len() - old > MOST_HELD {
            old += (self.held.len() - old) / 2;
            self.horizon_ns = self.horizon_ns.max(self.held[old].at_ns());
        }
        for event in self.held.drain(..old) {
            if let Event::Life(Life { group: Some(number), .. }) = &event {
                self.groups.note(*number);
            }
            // Births, names and ends are kept: whoever is followed since then must be known. A switch without the wake-ups beside it would
            // be a sleep that nothing ended.
            if event.at_ns() < self.attached_ns && !matches!(event, Event::Life(_)) {
                continue;
            }
            self.accumulator.take(&event, &mut self.ready);
        }
    }

    fn name_the_nameless(&mut self) {
        for tid in self.accumulator.nameless() {
            if let Some(known) = task_info::task(tid, self.groups.hierarchy()) {
                self.accumulator.name(&known);
            }
        }
    }

    fn fill_header(&mut self, header: &mut Header) {
        self.name_the_nameless();
        let sums = self.accumulator.sums();
        sums.fill(&mut header.totals);
        let bracket = self.bpf.tracepoints().bracket;
        header.totals.switch_cost_ns = bracket.then_some(sums.cost_ns);
        self.add_lost(header);
        header.recorder = RecorderCost {
            cpu_ns: Some(process_cpu_ns()),
            bpf_ns: None,
            memory_bytes: Some(self.bpf.memory_bytes()),
        };
        header.unavailable.clear();
        if !bracket {
            let why = not_in_place(self.asked);
            header.unavailable.push(unavailable("switches.cost_ns", why));
        }
        if self.scoped {
            let why = "absent for a task outside the scope that came while no task of the scope had just left or been preempted there; \
                swtch record -a observes all tasks";
            header.unavailable.push(unavailable("switches.ran_ns", why));
        }
        for table in ["switches", "tasks", "wakes", "preemptions", "histograms", "intervals"] {
            header.sources.insert(table.to_owned(), "bpf".to_owned());
        }
    }

    fn add_lost_rows(&self, tables: &mut Tables) {
        let lost = self.bpf.lost();
        for row in &mut tables.cpus {
            row.lost = lost.get(row.cpu as usize).map_or(0, Losses::all);
        }
    }

    fn add_lost(&self, header: &mut Header) {
        header.lost.clear();
        for (losses, cpu) in self.bpf.lost().into_iter().zip(0..) {
            let kinds = [
                (losses.switches, "switches"),
                (losses.wakes, "wake-ups"),
                (losses.lives, "forks, execs and exits"),
            ];
            header.lost.extend(kinds.into_iter().filter(|(events, _)| *events > 0).map(|(events, kind)| {
                Lost {
                    cpu: Some(cpu),
                    events,
                    what: format!("{kind}, because the buffer was full; a larger --buffer holds more"),
                }
            }));
        }
        header.lost.extend(late_rows(self.accumulator.late()));
    }

    /// The sum of each line, then each CPU's part of it.
    fn interrupt_rows(&self) -> Vec<InterruptRow> {
        let mut sums: BTreeMap<(bool, Line, Option<u32>), (u64, u64)> = BTreeMap::new();
        for one in self.bpf.interrupts() {
            for cpu in [None, Some(one.cpu)] {
                let sum = sums.entry((cpu.is_some(), one.line, cpu)).or_default();
                *sum = (sum.0 + one.count, sum.1 + one.ns);
            }
        }
        sums.into_iter()
            .map(|((_, line, cpu), (count, ns))| {
                let (kind, line) = match line {
                    Line::Hard(number) => (InterruptKind::Hard, number.to_string()),
                    Line::Timer => (InterruptKind::Hard, "LOC".to_owned()),
                    Line::Soft(kind) => (InterruptKind::Soft, soft_name(kind)),
                };
                InterruptRow { kind, line, name: String::new(), cpu, count, ns: Some(ns) }
            })
            .collect()
    }
}

impl Run for BpfRun {
    fn before_start(&mut self) {
        // The programs follow the children of those they follow: for a moment, of this thread.
        self.bpf.follow(own_tid());
    }

    fn started(&mut self, pid: u32) -> Result<(), RecordError> {
        self.bpf.unfollow(own_tid());
        self.members.add(pid);
        Ok(())
    }

    fn look(&mut self) {
        let now_ns = monotonic_ns();
        let newcomers = self.members.newcomers(now_ns);
        self.follow(&newcomers);
        let round = self.bpf.drain(&mut self.held);
        self.take(round.horizon_ns);
        self.groups.look(now_ns);
        self.period = next_period(self.period, round.full, self.longest_period);
    }

    fn period(&self) -> Duration {
        self.period
    }

    fn alive(&self) -> bool {
        self.members.alive()
    }

    fn switches(&mut self) -> Vec<SwitchRow> {
        std::mem::take(&mut self.ready)
    }

    fn finish(&mut self, end_ns: u64) {
        // An event of before may be completed only after.
        let pause = Duration::from_millis(2);
        loop {
            std::thread::sleep(pause);
            let round = self.bpf.drain(&mut self.held);
            if round.horizon_ns >= end_ns || monotonic_ns() >= end_ns + LAST_WAIT_NS {
                break;
            }
        }
        let pending = self.bpf.pending();
        self.bpf.detach();
        self.take(end_ns);
        self.held.clear();
        let within = self.attached_ns..end_ns;
        for (cpu, prev_tid, at_ns) in pending.into_iter().filter(|(_, _, at_ns)| within.contains(at_ns)) {
            // Into a task so new that nothing has interrupted it since, or a switch that is not over. The task that comes is not known.
            let switch = Switch {
                at_ns,
                cpu,
                prev_tid,
                next_tid: 0,
                prev_state: PrevState::Other,
                preempted: false,
                address_space_changed: None,
                cost_ns: None,
                prev_counts: None,
                after_gap: false,
                interrupted: false,
            };
            if prev_tid != 0 && self.accumulator.is_running(prev_tid, cpu) {
                self.accumulator.take(&Event::Switch(switch), &mut self.ready);
            }
        }
        self.accumulator.end(&mut self.ready);
        self.groups.look_again();
        regroup(&mut self.accumulator, self.groups.hierarchy());
    }

    fn fill(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        self.fill_header(header);
        let mut tables = self.accumulator.tables(now_ns, &|number| self.groups.name(number));
        tables.interrupts = self.interrupt_rows();
        self.add_lost_rows(&mut tables);
        tables
    }

    fn recent(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        self.fill_header(header);
        // What runs at the horizon has run until then: later events are still to come.
        let mut tables = self.accumulator.recent(self.horizon_ns, &|number| self.groups.name(number));
        self.add_lost_rows(&mut tables);
        if now_ns.saturating_sub(self.swept_ns) >= SWEEP_EVERY_NS {
            self.swept_ns = now_ns;
            regroup(&mut self.accumulator, self.groups.hierarchy());
            self.accumulator.forget_unless(now_ns.saturating_sub(SWEEP_EVERY_NS), task_info::is_there);
        }
        tables
    }

    fn progress(&self) -> Progress {
        let sums = self.accumulator.sums();
        Progress {
            switches: Some(sums.voluntary + sums.involuntary),
            run_ns: Some(sums.run_ns),
            tasks: self.accumulator.task_count(),
            lost: self.bpf.lost().iter().map(Losses::all).sum::<u64>() + self.accumulator.late().all(),
            ..Progress::default()
        }
    }
}

/// Events that could not be put in order, for the header.
pub(super) fn late_rows(late: &Late) -> Vec<Lost> {
    let row = |cpu, events| Lost {
        cpu,
        events,
        what: "events that came after later ones: they are counted, their times are not known".to_owned(),
    };
    let by_cpu = late.by_cpu.iter().map(|(cpu, events)| row(Some(*cpu), *events));
    by_cpu.chain((late.lives > 0).then(|| row(None, late.lives))).collect()
}

/// Kinds of soft interrupts in the order of the kernel (include/linux/interrupt.h, v6.18).
fn soft_name(kind: u32) -> String {
    const NAMES: [&str; 10] =
        ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
    NAMES.get(kind as usize).map_or_else(|| kind.to_string(), |name| (*name).to_owned())
}

/// Why the cost of switches was not measured where they happened.
pub(super) fn not_in_place(asked: Cost) -> &'static str {
    match asked {
        Cost::InPlace => "this kernel has no sched_entry_tp and sched_exit_tp; the Profile gives the cost",
        Cost::Profile => "not asked for: with --cost profile, the Profile gives the cost",
    }
}

pub(super) fn own_tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// When to look at rings again of which the fullest was so full: at once when it fills up, ever later while it does not.
pub(super) fn next_period(period: Duration, full: f64, longest: Duration) -> Duration {
    match full {
        full if full > 0.2 => PERIODS.0,
        full if full < 0.02 => (period * 2).min(longest),
        _ => period,
    }
}

/// How long a CPU's buffer of so many bytes may be left alone.
fn longest_period(buffer_bytes: u64) -> Duration {
    let holds = Duration::from_millis(buffer_bytes / EVENT_BYTES * 1000 / MOST_EVENTS_PER_S);
    holds.clamp(PERIODS.1, LONGEST_PERIOD)
}

/// Looks once more in which control groups the tasks are that are still there: they may have been moved.
pub(super) fn regroup(accumulator: &mut Accumulator, hierarchy: Option<&Hierarchy>) {
    let Some(hierarchy) = hierarchy else { return };
    for tid in accumulator.living() {
        if let Some(path) = task_info::group(tid, hierarchy) {
            accumulator.regroup(tid, path);
        }
    }
}

/// Which CPUs share caches, by the machine's facts.
pub(crate) fn cache_groups(host: &Host) -> CacheGroups {
    let groups = |level: u32| {
        let most = host.cpus.iter().map(|cpu| cpu.id).max().map_or(0, |id| id as usize + 1);
        // A CPU whose cache is not known shares it with nobody.
        let mut of: Vec<u32> = (0..most as u32).map(|cpu| cpu + (1 << 16)).collect();
        let caches = host.caches.iter().filter(|cache| cache.level == level);
        for (cache, number) in caches.zip(0..) {
            for cpu in &cache.shared_by {
                if let Some(slot) = of.get_mut(*cpu as usize) {
                    *slot = number;
                }
            }
        }
        of
    };
    CacheGroups { l2: groups(2), l3: groups(3) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Facts;
    use crate::session::prepare;

    #[test]
    fn a_buffer_is_left_alone_for_as_long_as_it_holds_what_may_come() {
        assert_eq!(longest_period(BUFFER_BYTES_PER_CPU), LONGEST_PERIOD);
        assert_eq!(longest_period(4 << 20), Duration::from_millis(65));
        assert_eq!(longest_period(64 << 10), PERIODS.1);
    }

    /// A recorder that is stopped between the first program and the last sees switches and no wake-ups meanwhile.
    #[test]
    fn what_came_before_the_last_program_was_attached_is_not_counted() {
        let options = Options::new(Target::Processes(vec![std::process::id()]), "/nonexistent".into());
        if let Err(why) = Facts::read().bpf {
            eprintln!("SKIP what_came_before_the_last_program_was_attached_is_not_counted: {why}");
            return;
        }
        let (mut header, _, group) = prepare(&options).unwrap();
        let mut run = BpfRun::begin(&options, group.as_ref(), &mut header).unwrap();
        let naps = |count: u32| (0..count).for_each(|_| std::thread::sleep(Duration::from_micros(50)));
        naps(200);
        run.attached_ns = monotonic_ns();
        naps(5);
        let end_ns = monotonic_ns();
        run.finish(end_ns);
        let tables = run.fill(end_ns, &mut header);
        let row = tables.tasks.iter().find(|row| row.tid == own_tid()).unwrap();
        assert!((5..100).contains(&row.voluntary) && (5..100).contains(&row.wakeups), "{row:?}");
    }

    #[test]
    fn looks_become_rare_while_nothing_comes_and_frequent_at_once_when_much_does() {
        let rarer = |period: Duration, _| next_period(period, 0.0, LONGEST_PERIOD);
        assert_eq!((0..9).fold(PERIODS.0, rarer), LONGEST_PERIOD);
        assert_eq!(next_period(LONGEST_PERIOD, 0.3, LONGEST_PERIOD), PERIODS.0);
        assert_eq!(next_period(PERIODS.1, 0.1, LONGEST_PERIOD), PERIODS.1);
    }
}
