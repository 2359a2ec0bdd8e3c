//! BPF programs that only count: nothing per event crosses to the recorder, whatever the rate and however long.

mod cpus;
mod shared;
mod windows;

use crate::clock::monotonic_ns;
use crate::sources::bpf::{BpfError, Tracepoints, loaded, on_cpu, refused, task_limit};
use crate::sources::mapping::Mapping;
use crate::sources::ring::comm;
pub(crate) use cpus::CpuCounts;
use libbpf_rs::skel::Skel as _;
use libbpf_rs::{Iter, Link, ProgramInput, RingBuffer, RingBufferBuilder};
pub(crate) use shared::CLASSES;
use shared::{COST_UNIT_NS, COUNTED, ENDED, KERNEL_THREAD, RawCounts, RawCpu, RawRecord, WAITING, value};
use skeleton::{CountsSkel, CountsSkelBuilder};
use std::cell::RefCell;
use std::io::Read;
use std::mem::offset_of;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use swtch_stats::{ClusterRatio, class_quantile, classes};
use swtch_trace::accumulate::CacheGroups;
use swtch_trace::growth::{Growth, difference};
use swtch_trace::tables::SchedPolicy;
use windows::{Action, Windows};

/// In the first window, a switch that takes longer is an outlier, ns.
const FIRST_OUTLIER_NS: u64 = 1_000_000;
/// Memory for the records of ended tasks, at most: many may end between two polls.
const MOST_ENDED_BYTES: usize = 32 << 20;

#[allow(clippy::all, clippy::pedantic, missing_docs, unreachable_pub, unused, unsafe_op_in_unsafe_fn)]
#[allow(clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/counts.skel.rs"));
}

/// A task. Its sums are the kernel's own, since the task was created until a base is taken off them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TaskCounts {
    /// The task.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Its parent process.
    pub parent_pid: u32,
    /// Its name.
    pub comm: String,
    /// It has no user space.
    pub kernel_thread: bool,
    /// The number of its cgroup, the last one it was in; 0 for none.
    pub group: u64,
    /// Its scheduling policy.
    pub policy: Option<SchedPolicy>,
    /// Its nice value.
    pub nice: i32,
    /// Its real-time priority, where it has one.
    pub realtime_priority: Option<u32>,
    /// Where the kernel keeps it, which it does at one place for the task's life.
    pub address: u64,
    /// When it was created, ns of CLOCK_MONOTONIC; a thread that executes another program takes over the time of its process.
    pub start_ns: u64,
    /// When it was first and last looked at, ns of CLOCK_MONOTONIC.
    pub first_ns: u64,
    /// See `first_ns`.
    pub last_ns: u64,
    /// It has left its CPU for good; its sums are final.
    pub ended: bool,
    /// It waits for a CPU.
    pub waiting: bool,
    /// Voluntary switches.
    pub voluntary: u64,
    /// Involuntary switches.
    pub involuntary: u64,
    /// Time on a CPU, ns.
    pub run_ns: u64,
    /// Time in run queues, ns. It includes `quota_ns`.
    pub wait_ns: u64,
    /// Times it came to a CPU.
    pub arrivals: u64,
    /// Times it was moved to another CPU.
    pub moves: u64,
    /// The part of `wait_ns` in which a quota, of its cgroup or one above, stopped the task, ns; see [`Counter::knows_quota`].
    pub quota_ns: u64,
    /// The run queue of its cgroup, and how long a quota had stopped that, ns.
    pub throttled: (u64, u64),
    /// The latter of all run queues of its cgroup, summed.
    pub group_throttled_ns: u64,
    /// What the programs at switches saw of it.
    pub seen: Seen,
    /// In a watch whose figures are sampled: the cost that its snapshots have so far, ns, and of how many arrivals.
    pub priced: Option<(u64, u64)>,
}

/// What only a switch shows of a task, as far as switches were seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SeenOfTask {
    /// Times it came to a CPU.
    pub arrivals: u64,
    /// Of those, times the address space changed.
    pub process_switches: u64,
    /// Of those, times the task that had run there before is known, and it was another, or this one was on another CPU.
    pub with_last: u64,
    /// See `with_last`.
    pub cold_switch_ins: u64,
    /// Direct cost of the switches to it, ns, and of how many it was measured.
    pub cost_ns: u64,
    /// See `cost_ns`.
    pub costs: u64,
    /// Squares of the arrivals by window, their products with the costs (ns), and squares of those.
    pub by_window: [f64; 3],
    /// Longest wait, ns.
    pub wait_max_ns: u64,
    /// Longest slice, ns.
    pub slice_max_ns: u64,
    /// Migrations within a level 2 cache, within a level 3 cache, across.
    pub migrations: [u64; 3],
    /// Waits, in classes.
    pub waits: Classes,
    /// Slices, in classes.
    pub slices: Classes,
}

/// What was seen of a task; of the many that sleep it is nothing, and takes no memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen(Option<Rc<SeenOfTask>>);

impl From<SeenOfTask> for Seen {
    fn from(seen: SeenOfTask) -> Self {
        Self(Some(Rc::new(seen)))
    }
}

impl Deref for Seen {
    type Target = SeenOfTask;

    fn deref(&self) -> &SeenOfTask {
        static NOTHING: SeenOfTask = SeenOfTask {
            arrivals: 0,
            process_switches: 0,
            with_last: 0,
            cold_switch_ins: 0,
            cost_ns: 0,
            costs: 0,
            by_window: [0.0; 3],
            wait_max_ns: 0,
            slice_max_ns: 0,
            migrations: [0; 3],
            waits: Classes([0; CLASSES]),
            slices: Classes([0; CLASSES]),
        };
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl Seen {
    /// No window saw the task.
    pub(crate) fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// To change it; nothing where nothing was seen.
    pub(crate) fn as_mut(&mut self) -> Option<&mut SeenOfTask> {
        self.0.as_mut().map(Rc::make_mut)
    }
}

/// Two classes an octave, as `class_of` of `bpf/counts.bpf.c` has them.
const CLASS_BITS: u32 = 1;

/// Counts in classes, as the kernel's programs keep them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Classes<T = u32>([T; CLASSES]);

impl<T: Copy + Default> Default for Classes<T> {
    fn default() -> Self {
        Self([T::default(); CLASSES])
    }
}

impl<T: Copy + Into<u64>> Classes<T> {
    /// From (ns), to (exclusive) and count of each class that has any.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u64, u64, u64)> + Clone + '_ {
        classes::<CLASS_BITS, T>(&self.0)
    }
}

impl Classes {
    /// The quantile, ns, at most `max_ns`, the longest if that is known: by the one rule of [`class_quantile`].
    pub(crate) fn quantile_ns(&self, share: f64, max_ns: Option<u64>) -> Option<u64> {
        class_quantile(self.rows(), share, max_ns)
    }

    /// The counts as they are, class by class. They are of 32 bits and wrap around when those are full.
    pub(crate) fn counts(&self) -> &[u32; CLASSES] {
        &self.0
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        for (count, before) in since.0.iter_mut().zip(&earlier.0) {
            *count = difference(*count, *before);
        }
        since
    }
}

/// Sums of counts in classes, in 64 bits: they never wrap around.
pub(crate) type ClassSums = Classes<u64>;

impl ClassSums {
    /// Adds what came between two readings of counts of 32 bits. Those that fell are counted in `growth`.
    pub(crate) fn grow(&mut self, before: &[u32; CLASSES], now: &[u32; CLASSES], growth: &Growth) {
        for (sum, (before, now)) in self.0.iter_mut().zip(before.iter().zip(now)) {
            *sum += growth.of_32_bits(*before, *now);
        }
    }

    /// Raises the sums to those of `seen` times `factor`. An estimate that is lower leaves them, for sums never fall.
    pub(crate) fn raise(&mut self, seen: &Self, factor: f64) {
        for (sum, seen) in self.0.iter_mut().zip(&seen.0) {
            *sum = (*sum).max((*seen as f64 * factor).round() as u64);
        }
    }

    /// Adds other sums.
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, other) in self.0.iter_mut().zip(&other.0) {
            *sum += other;
        }
    }
}

/// Where the kernel keeps it and when it was created: no two tasks have both.
pub(crate) type TaskKey = (u64, u64);

impl TaskCounts {
    /// The kernel's sums, which never fall.
    pub(crate) fn sums(&mut self) -> [&mut u64; 6] {
        let Self { voluntary, involuntary, run_ns, wait_ns, arrivals, moves, .. } = self;
        [voluntary, involuntary, run_ns, wait_ns, arrivals, moves]
    }

    /// Its counters of 64 bits, which never fall.
    pub(crate) fn counters(&self) -> [u64; 10] {
        let seen = &self.seen;
        [
            self.voluntary,
            self.involuntary,
            self.run_ns,
            self.wait_ns,
            self.arrivals,
            self.moves,
            seen.arrivals,
            seen.cold_switch_ins,
            seen.process_switches,
            seen.cost_ns,
        ]
    }

    /// What identifies it.
    pub(crate) fn key(&self) -> TaskKey {
        (self.address, self.start_ns)
    }
}

/// The programs, loaded.
pub(crate) struct Counter {
    cpus: Mapping<RawCpu>,
    /// The kernel's sums when the counting began.
    begun: CpuCounts,
    followed: Mapping<u64>,
    /// Tasks that ended, as the ring told them.
    ended: Rc<RefCell<Vec<TaskCounts>>>,
    ring: RingBuffer<'static>,
    windows: Windows,
    /// The programs that are attached while a window is open.
    open: Vec<Link>,
    /// A switch in the next window that takes longer does not count as a price, ns.
    most_cost_ns: u64,
    entry_exit: bool,
    /// Tasks that end are kept until their last switch is over.
    keeps_ending: bool,
    /// How many had been kept when the dead among them were last collected, and how many were left then.
    kept: u64,
    underway: u64,
    memory_bytes: u64,
    /// The last list could not be read to its end.
    list_failed: bool,
    skeleton: CountsSkel<'static>,
}

/// Tasks as the kernel lists them.
#[derive(Debug, Default)]
pub(crate) struct TaskList {
    /// The tasks with their counts.
    pub tasks: Vec<TaskCounts>,
    /// All that exist are among them. Otherwise those that did nothing since the list before are not.
    pub is_whole: bool,
}

impl Counter {
    /// Loads the programs without attaching them. Those at switches see `share` of the time, and measure the cost of every switch where it
    /// happens if `in_place`. With `cpu_hierarchy`, a task's cgroup is that of the cpu controller's own hierarchy (version 1), otherwise
    /// of the common one (version 2). `ended_bytes` of memory for each CPU hold the records of ended tasks until they are read.
    ///
    /// # Errors
    /// When the kernel does not allow it or has not what it takes.
    pub(crate) fn load(
        scoped: bool,
        cpu_hierarchy: bool,
        in_place: bool,
        share: f64,
        groups: &CacheGroups,
        ended_bytes: usize,
    ) -> Result<Self, BpfError> {
        let has = Tracepoints::probe()?;
        let (entry_exit, keeps_ending) = (has.entry_exit && in_place && share > 0.0, has.keeps_tasks);
        let cpus = libbpf_rs::num_possible_cpus().map_err(|error| refused("counting the CPUs", &error))?;
        let words = task_limit().div_ceil(64);
        let ring_bytes = (ended_bytes * cpus).next_power_of_two().min(MOST_ENDED_BYTES);
        let skeleton = loaded::<CountsSkelBuilder>(|open| {
            if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
                constants.scoped = scoped;
                constants.cpu_hierarchy = cpu_hierarchy;
                constants.followed_words = words;
                constants.cpu_limit = cpus as u32;
            }
            open.progs.entered.set_autoload(entry_exit);
            open.progs.left.set_autoload(entry_exit);
            open.progs.switched.set_autoload(share > 0.0);
            open.progs.collect_dead.set_autoload(keeps_ending);
            open.progs.ready_storage.set_autoload(share > 0.0);
            for program in [
                &mut open.progs.entered,
                &mut open.progs.left,
                &mut open.progs.switched,
                &mut open.progs.ready_storage,
            ] {
                program.set_autoattach(false);
            }
            open.maps.cpus.set_max_entries(cpus as u32)?;
            open.maps.caches.set_max_entries(cpus as u32)?;
            open.maps.ended.set_max_entries(ring_bytes as u32)?;
            open.maps.followed.set_max_entries(words)
        })?;
        let maps = &skeleton.maps;
        let caches: Mapping<u64> = Mapping::new(&maps.caches, cpus).map_err(BpfError::Memory)?;
        for cpu in 0..cpus {
            let of = |numbers: &[u32]| u64::from(numbers.get(cpu).copied().unwrap_or(u32::MAX - cpu as u32));
            caches.atomic(cpu, 0).store(of(&groups.l2) | of(&groups.l3) << 32, Ordering::Relaxed);
        }
        let ended = Rc::new(RefCell::new(Vec::new()));
        let taken = Rc::clone(&ended);
        let mut ring = RingBufferBuilder::new();
        let reading = |error| refused("mapping what ended", &error);
        ring.add(&maps.ended, move |bytes| {
            taken.borrow_mut().extend(task(bytes).map(|(task, _)| task));
            0
        })
        .map_err(reading)?;
        let ring = ring.build().map_err(reading)?;
        let followed = Mapping::new(&maps.followed, words as usize).map_err(BpfError::Memory)?;
        let cpus: Mapping<RawCpu> = Mapping::new(&maps.cpus, cpus).map_err(BpfError::Memory)?;
        let memory_bytes = (ring_bytes + followed.bytes() + cpus.bytes()) as u64;
        let now_ns = monotonic_ns();
        let windows = Windows::new(share, now_ns ^ u64::from(std::process::id()) << 40, now_ns);
        let (begun, open) = (CpuCounts::default(), Vec::new());
        Ok(Self {
            cpus,
            begun,
            followed,
            ended,
            ring,
            // Of the first window nothing is known; the slowest path of a slow machine takes less.
            most_cost_ns: if windows.is_all() { u64::MAX } else { FIRST_OUTLIER_NS },
            windows,
            open,
            entry_exit,
            keeps_ending,
            kept: 0,
            underway: 0,
            memory_bytes,
            list_failed: false,
            skeleton,
        })
    }

    /// Attaches the programs: tasks that end are seen from here on. Returns the tasks that are there.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn attach(&mut self) -> Result<TaskList, BpfError> {
        if self.windows.sees_some() {
            self.ready_storage();
        }
        self.skeleton.attach().map_err(|error| refused("attaching them", &error))?;
        if self.windows.is_all() {
            self.open_window()?;
        }
        let tasks = self.tasks(true)?;
        self.begun = self.cpus();
        Ok(tasks)
    }

    /// Has the kernel get memory for what windows see of tasks. A CPU that is off, and a kernel before 5.10, do without: refusals are counted.
    fn ready_storage(&self) {
        for cpu in 0..self.cpus.len() as u32 {
            let _ = self.skeleton.progs.ready_storage.test_run(on_cpu(cpu));
        }
    }

    /// Opens or closes a window, if it is time.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn poll_windows(&mut self) -> Result<(), BpfError> {
        match self.windows.action(monotonic_ns()) {
            Action::Open => self.open_window(),
            Action::Close => {
                self.close_window();
                Ok(())
            }
            Action::Nothing => Ok(()),
        }
    }

    /// How long until a window opens or closes.
    pub(crate) fn window_wait(&self) -> Duration {
        self.windows.wait(monotonic_ns())
    }

    fn open_window(&mut self) -> Result<(), BpfError> {
        for cpu in 0..self.cpus.len() {
            for offset in [offset_of!(RawCpu, entered_ns), offset_of!(RawCpu, entered_kind)] {
                // A switch that was underway when the last window closed is over. The second word holds the kind and the last task.
                self.cpus.atomic(cpu, offset).store(0, Ordering::Relaxed);
            }
        }
        if let Some(globals) = self.skeleton.maps.bss_data.as_deref_mut() {
            globals.window += 1;
            globals.most_cost_ns = self.most_cost_ns;
        }
        let programs = &self.skeleton.progs;
        let attached = if self.entry_exit {
            [&programs.left, &programs.switched, &programs.entered].iter().map(|it| it.attach()).collect()
        } else {
            programs.switched.attach().map(|link| vec![link])
        };
        self.open = attached.map_err(|error| refused("attaching them", &error))?;
        self.windows.opened(monotonic_ns(), self.cpus().seen());
        Ok(())
    }

    /// Ends the window that is open, if one is.
    pub(crate) fn close_window(&mut self) {
        // The one that begins a switch first: what it did not begin, the others leave alone.
        while self.open.pop().is_some() {}
        let cpus = self.cpus();
        self.windows.closed(monotonic_ns(), cpus.seen());
        if !self.windows.is_all() {
            self.most_cost_ns = cpus.outlier_ns().unwrap_or(self.most_cost_ns);
        }
    }

    /// Every switch is seen.
    pub(crate) fn sees_all(&self) -> bool {
        self.windows.is_all()
    }

    /// Some switches are seen, or all.
    pub(crate) fn sees_some(&self) -> bool {
        self.windows.sees_some()
    }

    /// The share of the time in which switches were seen, and the number of the windows.
    pub(crate) fn sampled(&self) -> (f64, u64) {
        self.windows.share(monotonic_ns())
    }

    /// Cost of a switch by the windows, ns; `of_tasks` of those to counted tasks only.
    pub(crate) fn cost_of_switch(&self, of_tasks: bool) -> &ClusterRatio {
        self.windows.figure(usize::from(of_tasks))
    }

    /// Moves within a level 2 cache, within a level 3 cache, across, as shares of all moves.
    pub(crate) fn move_shares(&self) -> [&ClusterRatio; 3] {
        [2, 3, 4].map(|index| self.windows.figure(index))
    }

    /// Counts a task and, from then on, its descendants, or ends that; descendants are still counted then. Returns whether it was counted.
    pub(crate) fn set_followed(&self, tid: u32, on: bool) -> bool {
        self.followed.set_bit(tid, on)
    }

    /// Whether the cost of switches is measured.
    pub(crate) fn measures_cost(&self) -> bool {
        self.entry_exit
    }

    /// Whether this kernel (6.6 and later, with quotas of cgroups) reports how long a quota stopped a task.
    pub(crate) fn knows_quota(&self) -> bool {
        (0..self.cpus.len()).any(|cpu| self.cpus.read(cpu).knows_quota != 0)
    }

    /// Memory of the programs' maps; each task that was seen in a window takes some 700 bytes more.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The tasks that exist, with their counts now: `all` of them, or those that changed since the last list.
    ///
    /// # Errors
    /// When the kernel does not say. All that changed are then in the next list that it gives.
    pub(crate) fn tasks(&mut self, all: bool) -> Result<TaskList, BpfError> {
        let is_whole = all || self.list_failed;
        if let Some(globals) = self.skeleton.maps.bss_data.as_deref_mut() {
            globals.list_all = is_whole.into();
        }
        // What a list that fails halfway had given is lost.
        self.list_failed = true;
        let tasks = self.listed()?;
        self.list_failed = false;
        Ok(TaskList { tasks, is_whole })
    }

    fn listed(&self) -> Result<Vec<TaskCounts>, BpfError> {
        let Some(link) = &self.skeleton.links.dump else { return Ok(Vec::new()) };
        let mut iter = Iter::new(link).map_err(|error| refused("asking for the tasks", &error))?;
        let mut bytes = Vec::new();
        iter.read_to_end(&mut bytes)
            .map_err(|error| BpfError::Refused { doing: "reading the tasks", why: error.to_string() })?;
        let (mut found, mut rest) = (Vec::new(), bytes.as_slice());
        while let Some((task, length)) = task(rest) {
            found.push(task);
            rest = &rest[length..];
        }
        Ok(found)
    }

    /// The tasks that ended since this was last called, and how many are about to.
    pub(crate) fn ended(&mut self) -> (Vec<TaskCounts>, u64) {
        let kept = self.cpus().sum(|cpu| cpu.kept);
        if self.keeps_ending && (self.underway > 0 || kept != self.kept) {
            let run = self.skeleton.progs.collect_dead.test_run(ProgramInput::default());
            self.underway = run.map_or(0, |run| run.return_value.into());
            self.kept = kept;
        }
        // It fails where the callback does, which it does not.
        let _ = self.ring.consume();
        (self.ended.take(), self.underway)
    }

    /// The CPUs, with their counts now.
    pub(crate) fn cpus(&self) -> CpuCounts {
        CpuCounts((0..self.cpus.len()).map(|cpu| self.cpus.read(cpu)).collect()).less(&self.begun)
    }
}

/// The task that begins `bytes`, and how many it takes of them.
fn task(bytes: &[u8]) -> Option<(TaskCounts, usize)> {
    let raw: RawRecord = value(bytes)?;
    let (seen, length) = if raw.flags & COUNTED == 0 {
        (Seen::default(), size_of::<RawRecord>())
    } else {
        let counts: RawCounts = value(&bytes[size_of::<RawRecord>()..])?;
        (SeenOfTask::from(counts).into(), size_of::<RawRecord>() + size_of::<RawCounts>())
    };
    let task = TaskCounts {
        tid: raw.tid,
        pid: raw.pid,
        parent_pid: raw.parent_pid,
        comm: comm(&raw.comm),
        kernel_thread: raw.flags & KERNEL_THREAD != 0,
        group: raw.group,
        policy: SchedPolicy::from_kernel(raw.policy),
        nice: raw.nice,
        realtime_priority: (raw.realtime_priority > 0).then_some(raw.realtime_priority),
        address: raw.address,
        start_ns: raw.start_ns,
        first_ns: raw.start_ns,
        last_ns: raw.now_ns,
        ended: raw.flags & ENDED != 0,
        waiting: raw.flags & WAITING != 0,
        voluntary: raw.voluntary,
        involuntary: raw.involuntary,
        run_ns: raw.run_ns,
        wait_ns: raw.delay_ns,
        arrivals: raw.arrivals,
        moves: raw.migrations,
        quota_ns: 0,
        throttled: (raw.run_queue, raw.throttled_ns),
        group_throttled_ns: raw.group_throttled_ns,
        priced: None,
        seen,
    };
    Some((task, length))
}

impl From<RawCounts> for SeenOfTask {
    fn from(counts: RawCounts) -> Self {
        Self {
            arrivals: counts.arrivals,
            process_switches: counts.process_switches,
            with_last: counts.with_last,
            cold_switch_ins: counts.cold_switch_ins,
            cost_ns: counts.cost_ns,
            costs: counts.costs,
            by_window: by_window(&counts),
            wait_max_ns: counts.wait_max_ns,
            slice_max_ns: counts.slice_max_ns,
            migrations: counts.migrations.map(u64::from),
            waits: Classes(counts.waits),
            slices: Classes(counts.slices),
        }
    }
}

/// The sums of squares and products of all windows, the last of which the programs have not added yet.
fn by_window(counts: &RawCounts) -> [f64; 3] {
    let arrivals = counts.arrivals.saturating_sub(counts.arrivals_before) as f64;
    let cost_ns = counts.cost_ns.saturating_sub(counts.cost_before_ns) as f64;
    [
        counts.arrivals_squared as f64 + arrivals * arrivals,
        counts.arrivals_by_cost as f64 * COST_UNIT_NS + arrivals * cost_ns,
        counts.cost_squared as f64 * COST_UNIT_NS * COST_UNIT_NS + cost_ns * cost_ns,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_of_windows_that_are_over_and_of_the_last() {
        let counts = RawCounts {
            arrivals: 30,
            arrivals_before: 10,
            cost_ns: 64_000,
            cost_before_ns: 44_000,
            arrivals_squared: 100,
            arrivals_by_cost: 6875,
            cost_squared: 472_656,
            ..RawCounts::default()
        };
        let expected = [100.0 + 400.0, 440_000.0 + 400_000.0, 472_656.0 * 4096.0 + 4e8];
        assert_eq!(by_window(&counts), expected);
    }

    #[test]
    fn a_count_grows_past_its_end_and_never_backwards() {
        assert_eq!(
            (difference(7, 5), difference(3, u32::MAX), difference(5, 7), difference(475, 950)),
            (2, 4, 0, 0)
        );
    }

    #[test]
    fn classes_follow_each_other_and_quantiles_lie_inside() {
        let classes = Classes([1; CLASSES]);
        let rows: Vec<(u64, u64, u64)> = classes.rows().collect();
        assert_eq!(rows[..5], [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 6, 1)]);
        assert!(rows.windows(2).all(|pair| pair[0].1 == pair[1].0));
        assert_eq!(Classes::default().quantile_ns(0.5, None), None);
        let median = classes.quantile_ns(0.5, None).unwrap();
        assert!((rows[31].0..rows[31].1).contains(&median));
    }
}
