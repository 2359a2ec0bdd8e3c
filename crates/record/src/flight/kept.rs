//! The events that are kept, oldest first, and the tasks that existed when the oldest began.

use crate::session::{KeptChunk, Mark};
use crate::sources::bpf::{PackedEvent, PackedEvents};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use swtch_trace::accumulate::TaskInfo;
use swtch_trace::event::{Life, LifeKind};

/// The number of chunks that make up the kept events, by time or by memory. The oldest chunk goes first.
const CHUNKS: u64 = 16;
/// The shortest time of a chunk, unless it is full before, ns.
const SHORTEST_CHUNK_NS: u64 = 1_000_000_000;

/// A task that existed when the oldest kept event happened.
#[derive(Debug)]
struct KeptTask {
    info: TaskInfo,
    /// Its end was announced; its last switch may be in the next chunk.
    is_ending: bool,
}

/// Complete chunks, where they end, and the tasks that existed when they began.
pub(super) struct KeptPart {
    pub(super) chunks: Vec<Arc<KeptChunk>>,
    pub(super) end: Arc<Mark>,
    pub(super) tasks: Vec<TaskInfo>,
}

/// The kept events, in bounded memory.
#[derive(Debug)]
pub(super) struct KeptRing {
    tasks: HashMap<u32, KeptTask>,
    chunks: VecDeque<Arc<KeptChunk>>,
    /// The chunk that is being filled, and where it began.
    current: PackedEvents,
    begin: Arc<Mark>,
    keep_ns: u64,
    most_bytes: u64,
    /// Memory of the complete chunks that exist, those that are only being written among them.
    held_bytes: Arc<AtomicU64>,
    dropped_early: u64,
}

impl KeptRing {
    /// Nothing yet; `tasks` are those that exist.
    pub(super) fn new(
        begin: Arc<Mark>,
        tasks: impl Iterator<Item = TaskInfo>,
        keep_ns: u64,
        most_bytes: u64,
    ) -> Self {
        let mut new = Self {
            tasks: HashMap::new(),
            chunks: VecDeque::new(),
            current: PackedEvents::default(),
            begin,
            keep_ns,
            most_bytes,
            held_bytes: Arc::default(),
            dropped_early: 0,
        };
        tasks.for_each(|info| new.know(info));
        new
    }

    fn know(&mut self, info: TaskInfo) {
        self.tasks.insert(info.tid, KeptTask { info, is_ending: false });
    }

    /// Adds events, in the order of time.
    pub(super) fn add(
        &mut self,
        events: impl Iterator<Item = PackedEvent>,
        lives: impl Iterator<Item = Life>,
    ) {
        self.current.events.extend(events);
        self.current.lives.extend(lives);
    }

    /// Whether the chunk that is being filled should end.
    pub(super) fn is_full(&self, now_ns: u64) -> bool {
        self.current.bytes() >= self.most_bytes / CHUNKS
            || now_ns.saturating_sub(self.begin.at_ns()) >= (self.keep_ns / CHUNKS).max(SHORTEST_CHUNK_NS)
    }

    /// Ends the chunk that is being filled; the next one begins at `end`.
    pub(super) fn end_chunk(&mut self, end: Arc<Mark>) {
        let begin = std::mem::replace(&mut self.begin, end);
        let packed = std::mem::take(&mut self.current);
        self.chunks.push_back(Arc::new(KeptChunk::new(begin, packed, &self.held_bytes)));
    }

    /// Lets go of chunks that are too old, and of the oldest ones that leave no memory. `waiting_bytes` are of events that are still to come, and
    /// `name` is that of a cgroup.
    pub(super) fn trim(&mut self, now_ns: u64, waiting_bytes: u64, name: &dyn Fn(u64) -> Option<String>) {
        while let Some(oldest) = self.chunks.front() {
            let next_ns = self.chunks.get(1).map_or(self.begin.at_ns(), |chunk| chunk.begin.at_ns());
            let is_old = next_ns + self.keep_ns <= now_ns;
            if !is_old && self.bytes() + waiting_bytes <= self.most_bytes {
                return;
            }
            // One that is being written is not lost.
            if !is_old && Arc::strong_count(oldest) == 1 {
                self.dropped_early += oldest.packed.events.len() as u64;
            }
            let Some(oldest) = self.chunks.pop_front() else { return };
            self.tasks.retain(|_, task| !task.is_ending);
            oldest.packed.lives.iter().for_each(|life| self.outlive(life, name));
        }
    }

    /// Takes in something in the life of a task that is before the kept events.
    pub(super) fn outlive(&mut self, life: &Life, name: &dyn Fn(u64) -> Option<String>) {
        let known = self.tasks.get(&life.tid).filter(|_| life.kind != LifeKind::Fork);
        let maker = if life.tid == life.pid { life.parent_pid } else { life.pid };
        // A new task begins in the cgroup of its maker.
        let before = known.or_else(|| self.tasks.get(&maker)).and_then(|task| task.info.group.clone());
        let info = TaskInfo {
            tid: life.tid,
            pid: life.pid,
            parent_pid: Some(life.parent_pid),
            comm: life.comm.clone(),
            kernel_thread: life.kernel_thread,
            group: life.group.and_then(name).or(before),
            scheduling: life.scheduling.clone(),
        };
        self.tasks.insert(life.tid, KeptTask { info, is_ending: life.kind == LifeKind::Exit });
    }

    /// Forgets tasks that are not among those that exist: the event of their end was lost. One that ended since the kept events began is named
    /// by that event.
    pub(super) fn forget_unless(&mut self, existing: &HashSet<u32>) {
        self.tasks.retain(|tid, _| existing.contains(tid));
    }

    /// Memory of the events.
    pub(super) fn bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed) + self.current.bytes()
    }

    /// Events that went before their time, because they left no memory.
    pub(super) fn dropped_early(&self) -> u64 {
        self.dropped_early
    }

    /// When the oldest kept events began, ns of CLOCK_MONOTONIC.
    pub(super) fn begin_ns(&self) -> u64 {
        self.chunks.front().map_or(self.begin.at_ns(), |chunk| chunk.begin.at_ns())
    }

    /// The complete chunks; nothing where there is none.
    pub(super) fn kept(&self) -> Option<KeptPart> {
        let tasks = self.tasks.values().map(|task| task.info.clone()).collect();
        let chunks: Vec<_> = self.chunks.iter().cloned().collect();
        (!chunks.is_empty()).then(|| KeptPart { chunks, end: Arc::clone(&self.begin), tasks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_trace::event::Scheduling;

    const SECOND: u64 = 1_000_000_000;

    fn mark(at_ns: u64) -> Arc<Mark> {
        let mut mark = Mark::default();
        mark.system.monotonic_ns = at_ns;
        Arc::new(mark)
    }

    fn life(at_ns: u64, tid: u32, comm: &str, kind: LifeKind) -> Life {
        Life {
            at_ns,
            tid,
            pid: tid,
            parent_pid: 1,
            comm: comm.into(),
            kernel_thread: false,
            group: None,
            scheduling: Scheduling::default(),
            kind,
        }
    }

    fn info(tid: u32, group: &str) -> TaskInfo {
        TaskInfo { tid, pid: tid, comm: "old".into(), group: Some(group.into()), ..TaskInfo::default() }
    }

    fn fill(ring: &mut KeptRing, second: u64, events: usize) {
        let all = (0..events).map(|index| PackedEvent::wake(second * SECOND + index as u64, 7));
        ring.add(all, std::iter::empty());
        ring.end_chunk(mark((second + 1) * SECOND));
        ring.trim((second + 1) * SECOND, 0, &|_| None);
    }

    #[test]
    fn memory_is_bounded_and_what_went_early_is_counted() {
        let mut ring = KeptRing::new(mark(0), std::iter::empty(), 60 * SECOND, 32 * 1000);
        (0..9).for_each(|second| fill(&mut ring, second, 100));
        assert_eq!((ring.bytes(), ring.begin_ns(), ring.dropped_early()), (32 * 900, 0, 0));
        (9..30).for_each(|second| fill(&mut ring, second, 100));
        assert_eq!((ring.bytes(), ring.begin_ns(), ring.dropped_early()), (32 * 1000, 20 * SECOND, 2000));
        // Chunks that are being written take memory too, and are not lost.
        let KeptPart { chunks: writing, end, .. } = ring.kept().unwrap();
        assert_eq!((writing.len(), end.at_ns()), (10, 30 * SECOND));
        fill(&mut ring, 30, 100);
        assert_eq!((ring.kept().is_none(), ring.dropped_early()), (true, 2100), "only what is nowhere else");
        drop(writing);
        fill(&mut ring, 31, 100);
        assert_eq!((ring.bytes(), ring.begin_ns()), (32 * 100, 31 * SECOND));
    }

    #[test]
    fn at_least_the_time_asked_for_is_kept_and_no_chunk_more() {
        let mut ring = KeptRing::new(mark(0), std::iter::empty(), 5 * SECOND, 1 << 20);
        (0..20).for_each(|second| fill(&mut ring, second, 1));
        assert_eq!((ring.begin_ns(), ring.dropped_early()), (15 * SECOND, 0));
        assert!(!ring.is_full(20 * SECOND + SECOND / 2) && ring.is_full(21 * SECOND));
    }

    #[test]
    fn the_tasks_are_those_from_before_the_oldest_event() {
        let mut ring = KeptRing::new(mark(0), [info(1, "/a"), info(2, "/b")].into_iter(), SECOND, 1 << 20);
        let lives = [
            life(1, 3, "new", LifeKind::Fork),
            life(2, 3, "newer", LifeKind::Exec),
            life(3, 2, "old", LifeKind::Exit),
        ];
        ring.add(std::iter::empty(), lives.into_iter());
        ring.end_chunk(mark(SECOND));
        let names = |ring: &KeptRing| {
            let mut tasks: Vec<_> = ring
                .kept()
                .unwrap()
                .tasks
                .into_iter()
                .map(|task| (task.tid, task.comm, task.group.unwrap()))
                .collect();
            tasks.sort();
            tasks
        };
        let of = |tid, comm: &str, group: &str| (tid, comm.to_owned(), group.to_owned());
        assert_eq!(names(&ring), [of(1, "old", "/a"), of(2, "old", "/b")]);
        fill(&mut ring, 1, 1);
        // The last switch of a task may come after the chunk in which its end was announced.
        assert_eq!(names(&ring), [of(1, "old", "/a"), of(2, "old", "/b"), of(3, "newer", "/a")]);
        fill(&mut ring, 2, 1);
        assert_eq!(names(&ring), [of(1, "old", "/a"), of(3, "newer", "/a")]);
        ring.forget_unless(&[3].into());
        assert_eq!(names(&ring), [of(3, "newer", "/a")]);
    }
}
