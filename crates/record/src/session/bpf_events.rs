//! A recording by BPF programs that write down every event.

use super::deferred::{Deferred, unpack};
use super::group_names::GroupNames;
use super::members::Members;
use super::source::{PERIODS, Progress, SWEEP_EVERY_NS, Source, Status, next_period, own_cost};
use crate::clock::{monotonic_ns, process_cpu_ns};
use crate::error::RecordError;
use crate::options::{Cost, Options, Target};
use crate::sources::bpf::{Bpf, EVENT_BYTES, LoadOptions, Losses, MOST_TOLD_CPUS, Tracepoints};
use crate::system::Cgroup;
use crate::task_info;
use std::collections::{HashSet, VecDeque};
use std::time::Duration;
use swtch_trace::accumulate::{Accumulator, CacheGroups, History, Tables, TaskInfo};
use swtch_trace::event::{Event, Life, PrevState, Switch};
use swtch_trace::fields;
use swtch_trace::model::{Header, Lost};
use swtch_trace::tables::SwitchRow;

/// Memory for unread events: so much a CPU, and at most so much in all, unless asked otherwise.
const BUFFER_BYTES_PER_CPU: u64 = 16 << 20;
const MOST_BUFFER_BYTES: u64 = 256 << 20;
/// Events that wait for earlier ones are held in memory, at most this many. Beyond that, the older half goes on, and earlier events are late.
const MOST_HELD: usize = 2 << 20;
/// At the end, this is the longest wait for a CPU in the middle of a switch, ns: a hypervisor may have taken the CPU.
const LAST_WAIT_NS: u64 = 2_000_000_000;
/// The longest time between two polls. A buffer that cannot hold the events of that time at the highest rate, some 2 million a second and CPU, is
/// polled sooner.
const LONGEST_PERIOD: Duration = Duration::from_millis(200);
const MOST_EVENTS_PER_S: u64 = 2_000_000;
/// Rings that are emptied late are left alone while no more of them is full: to read what another CPU wrote costs a tenth of a microsecond an event.
const LEAVE_UNTIL: f64 = 0.2;

pub(super) struct BpfEvents {
    bpf: Bpf,
    accumulator: Accumulator,
    /// Seen, and not yet old enough to be in order.
    held: Vec<Event>,
    /// Events that are taken in at the end, where the options ask for that.
    deferred: Option<Deferred>,
    /// CPU time of this process when the last event had been read, where events are taken in after that, ns.
    read_cpu_ns: Option<u64>,
    /// When the last of the programs was attached, ns. They are attached one after another: before that, some see and others do not.
    attached_ns: u64,
    /// Everything before this moment has been taken, ns.
    horizon_ns: u64,
    history: History,
    period: Duration,
    longest_period: Duration,
    members: Members,
    /// Tasks that are followed and do not count yet: from which moment they do.
    joining: VecDeque<(u64, TaskInfo)>,
    groups: GroupNames,
    asked: Cost,
    scoped: bool,
    /// When tasks whose end was lost were last looked for.
    swept_ns: u64,
}

impl BpfEvents {
    pub(super) fn begin(
        options: &Options,
        history: History,
        group: Option<&Cgroup>,
        header: &Header,
    ) -> Result<Self, RecordError> {
        let scoped = options.target != Target::Machine;
        let cpus = header.host.cpus.len().max(1) as u64;
        let in_all = options.buffer_bytes.unwrap_or(MOST_BUFFER_BYTES.min(BUFFER_BYTES_PER_CPU * cpus));
        let groups = GroupNames::begin();
        let bpf = Bpf::load(LoadOptions {
            buffer_bytes: in_all / cpus,
            scoped,
            cpu_hierarchy: groups.is_of_cpu(),
            in_place: options.cost == Cost::InPlace,
        })?;
        let start_ns = header.provenance.started_monotonic_ns;
        let mut accumulator = Accumulator::new(start_ns, CacheGroups::of(&header.host), scoped);
        if bpf.tells_idle() {
            accumulator.is_told_idle();
        }
        let mut new = Self {
            bpf,
            accumulator,
            held: Vec::new(),
            deferred: (options.defer && history == History::Whole).then(Deferred::default),
            read_cpu_ns: None,
            attached_ns: start_ns,
            horizon_ns: start_ns,
            history,
            period: PERIODS.0,
            longest_period: longest_period(in_all / cpus),
            members: Members::of(&options.target, group),
            joining: VecDeque::new(),
            groups,
            asked: options.cost,
            scoped,
            swept_ns: start_ns,
        };
        if scoped {
            // Those that are made between the two are children of some that are there.
            new.attach()?;
        }
        new.follow_all();
        if !scoped {
            // The list only names them; events that come meanwhile would be none of the recording.
            new.attach()?;
        }
        Ok(new)
    }

    fn attach(&mut self) -> Result<(), RecordError> {
        self.bpf.attach()?;
        self.attached_ns = monotonic_ns();
        Ok(())
    }

    /// Follows the tasks that are there at the beginning, and those that they make until they are followed.
    fn follow_all(&mut self) {
        let mut followed = HashSet::new();
        loop {
            let there: Vec<u32> =
                self.members.tids().into_iter().filter(|tid| followed.insert(*tid)).collect();
            self.follow(&there);
            if there.is_empty() || !self.scoped {
                return;
            }
        }
    }

    /// Follows tasks that were there before the programs, or came otherwise than by birth. Those that they make meanwhile are followed too.
    fn follow(&mut self, tids: &[u32]) {
        for tid in tids {
            self.bpf.set_followed(*tid, true);
        }
        // Looking at them takes its time. Only from here on the programs see everything of all of them: sleeps and wake-ups.
        let now_ns = monotonic_ns();
        let infos = tids.iter().filter_map(|tid| task_info::task(*tid, self.groups.hierarchy()));
        self.joining.extend(infos.map(|info| (now_ns, info)));
    }

    /// The tasks that are recorded now; none when all are.
    pub(super) fn members(&self) -> Vec<u32> {
        let joining = self.joining.iter().map(|(_, info)| info.tid);
        self.accumulator.members().into_iter().chain(joining).collect()
    }

    /// Takes what is older than `horizon_ns`, in order, and returns the switches.
    fn take(&mut self, horizon_ns: u64) -> Vec<SwitchRow> {
        // Nearly sorted already, ring by ring: a merge.
        self.held.sort_by_key(Event::at_ns);
        let mut old = self.held.partition_point(|event| event.at_ns() < horizon_ns);
        self.horizon_ns = self.horizon_ns.max(horizon_ns);
        if self.held.len() - old > MOST_HELD {
            old += (self.held.len() - old) / 2;
            self.horizon_ns = self.horizon_ns.max(self.held[old].at_ns());
        }
        let mut switches = Vec::new();
        for event in self.held.drain(..old) {
            if let Event::Life(Life { group: Some(number), .. }) = &event {
                self.groups.note(*number);
            }
            // Births, names and ends are kept: a task that is followed since then must be known. A switch without its wake-ups would be a
            // sleep that nothing ended.
            if event.at_ns() < self.attached_ns && !matches!(event, Event::Life(_) | Event::Idle(_)) {
                continue;
            }
            join(&mut self.joining, &mut self.accumulator, event.at_ns());
            self.accumulator.take(&event, &mut switches);
        }
        join(&mut self.joining, &mut self.accumulator, self.horizon_ns);
        switches
    }

    /// Takes events out of the rings into memory, and takes them in where that has no room.
    fn defer(&mut self) -> Vec<SwitchRow> {
        let Some(deferred) = &mut self.deferred else { return Vec::new() };
        deferred.drain(&mut self.bpf, |number| self.groups.note(number));
        if deferred.is_full() { self.take_deferred() } else { Vec::new() }
    }

    /// Takes in the events that were only kept so far.
    fn take_deferred(&mut self) -> Vec<SwitchRow> {
        let mut switches = Vec::new();
        for (packed, horizon_ns) in self.deferred.as_mut().map(Deferred::empty).unwrap_or_default() {
            unpack(packed, &mut self.held);
            switches.append(&mut self.take(horizon_ns));
        }
        switches
    }

    fn fill_header(&mut self, header: &mut Header) {
        task_info::name_unnamed(&mut self.accumulator, self.groups.hierarchy());
        describe(&self.accumulator, self.bpf.tracepoints(), self.asked, header);
        add_lost(&self.bpf.lost(), &self.accumulator, header);
        header.recorder = own_cost(Some(self.bpf.memory_bytes()));
        header.recorder.cpu_ns = self.read_cpu_ns.or(header.recorder.cpu_ns);
        if self.scoped {
            let why = "absent for a task outside the scope that came while no task of the scope had just left or been preempted there; \
                swtch record -a observes all tasks";
            header.miss(fields::SWITCHES_RAN_NS, why);
            if !self.bpf.tells_idle() {
                let why = format!(
                    "which CPUs are idle is not told on a machine of more than {MOST_TOLD_CPUS}; swtch record -a records all"
                );
                header.miss(fields::TASKS_IDLE_ELSEWHERE_NS, why);
            }
        }
    }
}

/// Enters the figures that events give, of a recording or of kept events.
pub(super) fn describe(accumulator: &Accumulator, has: Tracepoints, asked: Cost, header: &mut Header) {
    let sums = accumulator.sums();
    sums.fill(&mut header.totals);
    header.totals.switch_cost_ns = has.entry_exit.then_some(sums.cost_ns);
    header.unavailable.clear();
    if !has.entry_exit {
        header.miss(fields::SWITCHES_COST_NS, asked.why_not_in_place());
    }
    for table in ["switches", "tasks", "wakes", "preemptions", "waits", "histograms", "intervals"] {
        header.set_source(table, "bpf");
    }
}

/// Enters the events that were lost, and those that came late.
pub(super) fn add_lost(lost: &[Losses], accumulator: &Accumulator, header: &mut Header) {
    header.lost.clear();
    for (losses, cpu) in lost.iter().zip(0..) {
        let kinds = [
            (losses.switches, "switches"),
            (losses.wakes, "wake-ups"),
            (losses.lives, "forks, execs and exits"),
        ];
        header.lost.extend(kinds.into_iter().filter(|(events, _)| *events > 0).map(|(events, kind)| Lost {
            cpu: Some(cpu),
            events,
            what: format!("{kind}, because the buffer was full; a larger --buffer holds more"),
        }));
    }
    header.lost.extend(accumulator.late().rows());
}

/// Enters the same in the rows of the CPUs.
pub(super) fn add_lost_rows(lost: &[Losses], tables: &mut Tables) {
    for row in &mut tables.cpus {
        row.lost = lost.get(row.cpu as usize).map_or(0, Losses::all);
    }
}

impl Source for BpfEvents {
    fn set_followed(&self, tid: u32, on: bool) {
        self.bpf.set_followed(tid, on);
    }

    fn poll(&mut self) -> Vec<SwitchRow> {
        let now_ns = monotonic_ns();
        let newcomers = self.members.newcomers(now_ns);
        self.follow(&newcomers);
        let switches = if self.deferred.is_some() {
            let full = self.bpf.full();
            self.period = next_period(self.period, full, self.longest_period);
            if full > LEAVE_UNTIL { self.defer() } else { Vec::new() }
        } else {
            let round = self.bpf.drain(&mut self.held);
            self.period = next_period(self.period, round.full, self.longest_period);
            self.take(round.horizon_ns)
        };
        self.groups.poll(now_ns);
        switches
    }

    fn status(&self) -> Status {
        let lost = self.bpf.lost().iter().map(Losses::all).sum::<u64>() + self.accumulator.late().all();
        let progress = match self.deferred {
            None => Progress::of_events(&self.accumulator, lost),
            Some(_) => Progress { tasks: self.members().len() as u64, lost, ..Progress::default() },
        };
        Status { period: self.period, alive: self.members.alive(), progress }
    }

    fn finish(&mut self, end_ns: u64) -> Vec<SwitchRow> {
        // An event of before may be completed only after.
        let pause = Duration::from_millis(2);
        let mut last = Vec::new();
        loop {
            std::thread::sleep(pause);
            let round = self.bpf.drain(&mut last);
            if round.horizon_ns >= end_ns || monotonic_ns() >= end_ns + LAST_WAIT_NS {
                break;
            }
        }
        let pending = self.bpf.pending();
        self.bpf.detach();
        self.read_cpu_ns = self.deferred.is_some().then(process_cpu_ns);
        let mut switches = self.take_deferred();
        self.held.append(&mut last);
        switches.append(&mut self.take(end_ns));
        self.held.clear();
        let within = self.attached_ns..end_ns;
        for (cpu, prev_tid, at_ns) in pending.into_iter().filter(|(_, _, at_ns)| within.contains(at_ns)) {
            // Into a task so new that nothing has interrupted it since, or a switch that is not over. The task that comes is not known.
            let switch = Switch::bare(at_ns, cpu, prev_tid, 0, PrevState::Other);
            if prev_tid != 0 && self.accumulator.is_running(prev_tid, cpu) {
                self.accumulator.take(&Event::Switch(switch), &mut switches);
            }
        }
        self.accumulator.end(&mut switches);
        self.groups.poll_again();
        task_info::look_again(&mut self.accumulator, self.groups.hierarchy());
        switches
    }

    fn is_behind(&self) -> bool {
        self.deferred.is_some()
    }

    fn snapshot(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        self.fill_header(header);
        let name = |number| self.groups.name(number);
        // Where later events are still to come, a task that runs at the horizon has run until the horizon.
        let at_ns = if self.history == History::Whole { now_ns } else { self.horizon_ns };
        let mut tables = self.accumulator.snapshot(at_ns, self.history, &name);
        add_lost_rows(&self.bpf.lost(), &mut tables);
        match self.history {
            History::Whole => tables.interrupts = self.bpf.interrupts(),
            History::Recent if now_ns.saturating_sub(self.swept_ns) >= SWEEP_EVERY_NS => {
                self.swept_ns = now_ns;
                task_info::look_again(&mut self.accumulator, self.groups.hierarchy());
                self.accumulator.forget_unless(now_ns.saturating_sub(SWEEP_EVERY_NS), task_info::is_there);
            }
            History::Recent => {}
        }
        tables
    }
}

/// Counts the tasks that were followed until a moment, from then on.
fn join(joining: &mut VecDeque<(u64, TaskInfo)>, accumulator: &mut Accumulator, until_ns: u64) {
    while joining.front().is_some_and(|(at_ns, _)| *at_ns <= until_ns)
        && let Some((_, info)) = joining.pop_front()
    {
        accumulator.follow(&info);
    }
}

/// How long a CPU's buffer of `buffer_bytes` may be left alone.
pub(crate) fn longest_period(buffer_bytes: u64) -> Duration {
    let holds = Duration::from_millis(buffer_bytes / EVENT_BYTES * 1000 / MOST_EVENTS_PER_S);
    holds.clamp(PERIODS.1, LONGEST_PERIOD)
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

    /// Whether they wait in the rings, in memory, or have no room there, events come to the same figures.
    #[test]
    fn what_is_taken_in_late_is_all_there() {
        if let Err(why) = Facts::read().bpf {
            eprintln!("SKIP what_is_taken_in_late_is_all_there: {why}");
            return;
        }
        let own = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
            line.rsplit('\t').next().unwrap().parse::<u64>().unwrap()
        };
        // Rings that are left alone to the end; rings that are emptied when 800 events are there, into room for all of them, or for none.
        let few = Some(262_144);
        for (buffer_bytes, most_bytes) in [(None, None), (few, None), (few, Some(0))] {
            let target = Target::Processes(vec![std::process::id()]);
            let options =
                Options { buffer_bytes, defer: true, ..Options::new(target, "/nonexistent".into()) };
            let (mut header, _, group) = prepare(&options, &Facts::of(&options.target)).unwrap();
            let mut events = BpfEvents::begin(&options, History::Whole, group.as_ref(), &header).unwrap();
            if let (Some(most), Some(deferred)) = (most_bytes, &mut events.deferred) {
                deferred.most_bytes = most;
            }
            let before = own();
            let mut switches = 0;
            for _ in 0..60 {
                (0..20).for_each(|_| std::thread::sleep(Duration::from_micros(50)));
                switches += events.poll().len();
            }
            let naps = own() - before;
            assert_eq!(switches > 0, most_bytes.is_some(), "{most_bytes:?}");
            let end_ns = monotonic_ns();
            events.finish(end_ns);
            let tables = events.snapshot(end_ns, &mut header);
            let row = tables.tasks.iter().find(|row| row.tid == task_info::own_tid()).unwrap();
            assert!((naps..naps + 20).contains(&row.voluntary), "{naps} naps, {row:?}");
            assert!(header.lost.is_empty(), "{:?}", header.lost);
        }
    }

    /// A recorder that is stopped while it attaches its programs, or while it says whom they follow, sees some sleeps without their wake-ups.
    #[test]
    fn what_came_before_everything_was_seen_is_not_counted() {
        if let Err(why) = Facts::read().bpf {
            eprintln!("SKIP what_came_before_everything_was_seen_is_not_counted: {why}");
            return;
        }
        let naps = |count: u32| (0..count).for_each(|_| std::thread::sleep(Duration::from_micros(50)));
        let last_program: fn(&mut BpfEvents) = |events| events.attached_ns = monotonic_ns();
        let last_task =
            |events: &mut BpfEvents| events.joining.iter_mut().for_each(|(at_ns, _)| *at_ns = monotonic_ns());
        for late in [last_program, last_task] {
            let options = Options::new(Target::Processes(vec![std::process::id()]), "/nonexistent".into());
            let (mut header, _, group) = prepare(&options, &Facts::of(&options.target)).unwrap();
            let mut events = BpfEvents::begin(&options, History::Whole, group.as_ref(), &header).unwrap();
            naps(200);
            late(&mut events);
            // A wake-up that comes before its sleep is none: on a busy machine some of them are missing.
            naps(40);
            let end_ns = monotonic_ns();
            events.finish(end_ns);
            let tables = events.snapshot(end_ns, &mut header);
            let row = tables.tasks.iter().find(|row| row.tid == task_info::own_tid()).unwrap();
            assert!((5..100).contains(&row.voluntary) && (5..100).contains(&row.wakeups), "{row:?}");
        }
    }
}
