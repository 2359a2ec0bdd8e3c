//! BPF programs that only count: nothing per event crosses to the recorder, whatever the rate and however long.

mod cpus;
mod shared;

use crate::sources::bpf::{BpfError, Tracepoints, loaded, refused, task_limit};
use crate::sources::mapping::Mapping;
use crate::sources::ring::{Ring, comm};
pub(crate) use cpus::CpuCounts;
use libbpf_rs::Iter;
use libbpf_rs::skel::Skel as _;
pub(crate) use shared::CLASSES;
use shared::{ENDED_SHIFT, RawCpu, RawRecord};
use skeleton::{CountsSkel, CountsSkelBuilder};
use std::io::Read;
use std::mem::offset_of;
use std::sync::atomic::Ordering;
use swtch_stats::{class_quantile, classes};
use swtch_trace::accumulate::CacheGroups;
use swtch_trace::growth::{Growth, difference};

#[allow(clippy::all, clippy::pedantic, missing_docs, unreachable_pub, unused, unsafe_op_in_unsafe_fn)]
#[allow(clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/counts.skel.rs"));
}

/// A task, since it was first seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// When it was first and last looked at, ns of CLOCK_MONOTONIC.
    pub first_ns: u64,
    /// See `first_ns`.
    pub last_ns: u64,
    /// It has ended; its last switch, always a voluntary one, is counted.
    pub ended: bool,
    /// Voluntary switches, by the kernel's count.
    pub voluntary: u64,
    /// Involuntary switches, by the kernel's count.
    pub involuntary: u64,
    /// Time on a CPU, ns, by the kernel's sum.
    pub run_ns: u64,
    /// Time in run queues, ns, by the kernel's sum. It includes `quota_ns`.
    pub wait_ns: u64,
    /// The part of it in which a quota, of its cgroup or one above, stopped the task, ns; see [`Counter::knows_quota`].
    pub quota_ns: u64,
    /// Times it came to a CPU.
    pub arrivals: u64,
    /// Of those, times another task had run there meanwhile, or it was another CPU.
    pub cold_switch_ins: u64,
    /// Of those, times the address space changed.
    pub process_switches: u64,
    /// Longest wait, ns.
    pub wait_max_ns: u64,
    /// Longest slice, ns.
    pub slice_max_ns: u64,
    /// Direct cost of the switches to it, ns, and of how many it was measured.
    pub cost_ns: u64,
    /// See `cost_ns`.
    pub costs: u64,
    /// Migrations within a level 2 cache, within a level 3 cache, across.
    pub migrations: [u64; 3],
    /// Waits, in classes.
    pub waits: Classes,
    /// Slices, in classes.
    pub slices: Classes,
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

    /// Adds other sums.
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, other) in self.0.iter_mut().zip(&other.0) {
            *sum += other;
        }
    }
}

/// A thread of a process keeps both for its life, when it was first seen and its process; its number changes when it executes another program.
pub(crate) type TaskKey = (u64, u32);

impl TaskCounts {
    /// Its counters of 64 bits, which never fall.
    pub(crate) fn counters(&self) -> [u64; 10] {
        [
            self.voluntary,
            self.involuntary,
            self.run_ns,
            self.wait_ns,
            self.quota_ns,
            self.arrivals,
            self.cold_switch_ins,
            self.process_switches,
            self.cost_ns,
            self.costs,
        ]
    }

    /// Switches of both kinds.
    pub(crate) fn switches(&self) -> u64 {
        self.voluntary + self.involuntary
    }

    /// What identifies it.
    pub(crate) fn key(&self) -> TaskKey {
        (self.first_ns, self.pid)
    }
}

/// The programs, loaded.
pub(crate) struct Counter {
    cpus: Mapping<RawCpu>,
    ended: Mapping<RawRecord>,
    followed: Mapping<u64>,
    entry_exit: bool,
    memory_bytes: u64,
    skeleton: CountsSkel<'static>,
}

impl Counter {
    /// Loads the programs without attaching them: those that measure the cost of every switch where it happens, or one that does not. With
    /// `cpu_hierarchy`, a task's cgroup is that of the cpu controller's own hierarchy (version 1), otherwise of the common one
    /// (version 2).
    ///
    /// # Errors
    /// When the kernel does not allow it or has not what it takes.
    pub(crate) fn load(
        scoped: bool,
        cpu_hierarchy: bool,
        in_place: bool,
        groups: &CacheGroups,
    ) -> Result<Self, BpfError> {
        let entry_exit = Tracepoints::probe()?.entry_exit && in_place;
        let cpus = libbpf_rs::num_possible_cpus().map_err(|error| refused("counting the CPUs", &error))?;
        let words = task_limit().div_ceil(64);
        let skeleton = loaded(CountsSkelBuilder::default(), |open| {
            if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
                constants.scoped = scoped;
                constants.cpu_hierarchy = cpu_hierarchy;
                constants.followed_words = words;
            }
            open.progs.entered.set_autoload(entry_exit);
            open.progs.left.set_autoload(entry_exit);
            open.progs.switched.set_autoload(!entry_exit);
            open.maps.cpus.set_max_entries(cpus as u32)?;
            open.maps.caches.set_max_entries(cpus as u32)?;
            open.maps.ended.set_max_entries((cpus as u32) << ENDED_SHIFT)?;
            open.maps.followed.set_max_entries(words)
        })?;
        let maps = &skeleton.maps;
        let caches: Mapping<u64> = Mapping::new(&maps.caches, cpus).map_err(BpfError::Memory)?;
        for cpu in 0..cpus {
            let of = |numbers: &[u32]| u64::from(numbers.get(cpu).copied().unwrap_or(u32::MAX - cpu as u32));
            caches.atomic(cpu, 0).store(of(&groups.l2) | of(&groups.l3) << 32, Ordering::Relaxed);
        }
        let ended = Mapping::new(&maps.ended, cpus << ENDED_SHIFT).map_err(BpfError::Memory)?;
        let followed = Mapping::new(&maps.followed, words as usize).map_err(BpfError::Memory)?;
        let cpus: Mapping<RawCpu> = Mapping::new(&maps.cpus, cpus).map_err(BpfError::Memory)?;
        let memory_bytes = (ended.bytes() + followed.bytes() + cpus.bytes()) as u64;
        Ok(Self { cpus, ended, followed, entry_exit, memory_bytes, skeleton })
    }

    /// Attaches the programs and begins to count the tasks that are there.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn attach(&mut self) -> Result<(), BpfError> {
        self.skeleton.attach().map_err(|error| refused("attaching them", &error))?;
        self.tasks().map(drop)
    }

    /// Counts a task and, from then on, its descendants, or ends that; descendants are still counted then.
    pub(crate) fn set_followed(&self, tid: u32, on: bool) {
        self.followed.set_bit(tid, on);
    }

    /// Whether the cost of every switch is measured.
    pub(crate) fn measures_cost(&self) -> bool {
        self.entry_exit
    }

    /// Whether this kernel (6.6 and later, with quotas of cgroups) reports how long a quota stopped a task.
    pub(crate) fn knows_quota(&self) -> bool {
        (0..self.cpus.len()).any(|cpu| self.cpus.read(cpu).knows_quota != 0)
    }

    /// Memory of the programs' maps; each counted task takes some 700 bytes more.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The tasks that exist, with their counts now.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub(crate) fn tasks(&mut self) -> Result<Vec<TaskCounts>, BpfError> {
        let Some(link) = &self.skeleton.links.dump else { return Ok(Vec::new()) };
        let mut iter = Iter::new(link).map_err(|error| refused("asking for the tasks", &error))?;
        let mut bytes = Vec::new();
        iter.read_to_end(&mut bytes)
            .map_err(|error| BpfError::Refused { doing: "reading the tasks", why: error.to_string() })?;
        let whole = bytes.chunks_exact(size_of::<RawRecord>());
        // SAFETY: the chunk has the record's size, and every bit pattern is a record. The read is unaligned, so the bytes need not be aligned.
        let records = whole.map(|bytes| unsafe { bytes.as_ptr().cast::<RawRecord>().read_unaligned() });
        Ok(records.map(|raw| task(&raw, false)).collect())
    }

    /// The tasks that ended since this was last called.
    pub(crate) fn ended(&self) -> Vec<TaskCounts> {
        let mut found = Vec::new();
        for cpu in 0..self.cpus.len() {
            let head = self.cpus.atomic(cpu, offset_of!(RawCpu, ended_head));
            let tail = self.cpus.atomic(cpu, offset_of!(RawCpu, ended_tail));
            let ring = Ring { values: &self.ended, cpu, shift: ENDED_SHIFT, head, tail };
            let _ = ring.drain(|raw| found.push(task(&raw, true)));
        }
        found
    }

    /// The CPUs, with their counts now.
    pub(crate) fn cpus(&self) -> CpuCounts {
        CpuCounts((0..self.cpus.len()).map(|cpu| self.cpus.read(cpu)).collect())
    }
}

fn task(raw: &RawRecord, ended: bool) -> TaskCounts {
    let counts = &raw.counts;
    TaskCounts {
        tid: raw.tid,
        pid: raw.pid,
        parent_pid: raw.parent_pid,
        comm: comm(&raw.comm),
        kernel_thread: raw.kernel_thread != 0,
        group: raw.group,
        first_ns: counts.first_ns,
        last_ns: raw.now_ns,
        ended,
        voluntary: raw.voluntary.saturating_sub(counts.first_voluntary) + u64::from(ended),
        involuntary: raw.involuntary.saturating_sub(counts.first_involuntary),
        run_ns: raw.run_ns.saturating_sub(counts.first_run_ns),
        wait_ns: raw.delay_ns.saturating_sub(counts.first_delay_ns),
        quota_ns: counts.quota_ns,
        arrivals: counts.arrivals,
        cold_switch_ins: counts.cold_switch_ins,
        process_switches: counts.process_switches,
        wait_max_ns: counts.wait_max_ns,
        slice_max_ns: counts.slice_max_ns,
        cost_ns: counts.cost_ns,
        costs: counts.costs,
        migrations: counts.migrations.map(u64::from),
        waits: Classes(counts.waits),
        slices: Classes(counts.slices),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
