//! From records in the order of time to events. Pure.

use super::record::{Record, What};
use std::collections::{HashMap, HashSet};
use swtch_trace::accumulate::TaskInfo;
use swtch_trace::event::{Event, LifeKind, PrevState, Scheduling, Switch};

/// What a record comes to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SampleRecord {
    /// An event.
    Event(Event),
    /// A task has another name.
    Name(TaskInfo),
}

/// What is known of tasks and CPUs between two records.
#[derive(Debug, Default)]
pub(crate) struct Converter {
    /// Whether a record names both the task that left and the task that came. Otherwise it names one of the two.
    whole: bool,
    /// This process, which is watched only because the command descends from it.
    aside: Option<u32>,
    tasks: HashMap<u32, TaskInfo>,
    /// Those past the record of their end: only their last switch is to come.
    leaving: HashSet<u32>,
    /// Those that were preempted after their number was taken from them: they come once more, nameless. With the CPU.
    nameless: Vec<(u32, u32)>,
    cpus: HashMap<u32, Occupant>,
}

/// The task that runs on a CPU, and the process whose address space the CPU has.
#[derive(Clone, Copy, Debug, Default)]
struct Occupant {
    tid: u32,
    space_pid: u32,
}

impl Converter {
    /// For records of the whole machine (`whole`), or of tasks; `aside` is a process whose own records are left out.
    pub(crate) fn new(whole: bool, aside: Option<u32>) -> Self {
        Self { whole, aside, ..Self::default() }
    }

    /// A task that was there before, or that no event named.
    pub(crate) fn know(&mut self, known: TaskInfo) {
        self.tasks.insert(known.tid, known);
    }

    /// Whether the task is known.
    pub(crate) fn knows(&self, tid: u32) -> bool {
        self.tasks.contains_key(&tid)
    }

    /// Takes a record, not older than those before it.
    pub(crate) fn take(&mut self, record: &Record, mut emit: impl FnMut(SampleRecord)) {
        if self.is_aside(record) {
            return;
        }
        match &record.what {
            What::Out { preempted, next } if self.whole => {
                if let Some(next) = next {
                    emit(SampleRecord::Event(self.whole_switch(record, *preempted, *next)));
                }
            }
            What::Out { preempted, .. } => {
                let state = if *preempted { PrevState::Runnable } else { PrevState::Sleeping };
                emit(SampleRecord::Event(Event::Switch(half(record, record.tid, 0, state))));
            }
            What::In if self.whole => {
                if let Some(event) = self.missing_idle(record) {
                    emit(SampleRecord::Event(event));
                }
            }
            What::In => {
                emit(SampleRecord::Event(Event::Switch(half(record, 0, record.tid, PrevState::Runnable))));
            }
            What::Comm { pid, tid, comm, exec } => {
                let task = self.tasks.entry(*tid).or_default();
                (task.tid, task.pid) = (*tid, *pid);
                task.comm.clone_from(comm);
                if *exec {
                    task.kernel_thread = false;
                    emit(SampleRecord::Event(task.life(record.at_ns, LifeKind::Exec)));
                } else {
                    emit(SampleRecord::Name(task.clone()));
                }
            }
            What::Fork { pid, tid, parent_pid, parent_tid } => {
                let parent = self.tasks.get(parent_tid).cloned().unwrap_or_default();
                // A thread has its process's parent.
                let grand = if tid == pid { Some(*parent_pid) } else { parent.parent_pid };
                let scheduling = Scheduling::default();
                let child = TaskInfo { tid: *tid, pid: *pid, parent_pid: grand, scheduling, ..parent };
                self.leaving.remove(tid);
                emit(SampleRecord::Event(child.life(record.at_ns, LifeKind::Fork)));
                self.tasks.insert(*tid, child);
            }
            What::Exit { pid, tid } => {
                let unknown = || TaskInfo { tid: *tid, pid: *pid, ..TaskInfo::default() };
                let task = self.tasks.remove(tid).unwrap_or_else(unknown);
                emit(SampleRecord::Event(task.life(record.at_ns, LifeKind::Exit)));
                if self.whole {
                    self.leaving.insert(*tid);
                } else {
                    // Its event ends before it: what comes is its last switch, which no event will report.
                    emit(SampleRecord::Event(Event::Switch(half(record, *tid, 0, PrevState::Dead))));
                }
            }
            What::Read { .. } | What::Mapped { .. } | What::Lost(_) | What::Other => {}
        }
    }

    /// Records of a process that is only there to start another, and of its own threads.
    fn is_aside(&self, record: &Record) -> bool {
        self.aside.is_some_and(|aside| match record.what {
            What::Fork { pid, .. } | What::Exit { pid, .. } | What::Comm { pid, .. } => pid == aside,
            _ => record.pid == aside,
        })
    }

    /// The task that left has reported this already. But some kernels (seen with 6.18, on a CPU that had been off) do not report the idle
    /// task.
    fn missing_idle(&mut self, record: &Record) -> Option<Event> {
        let was_idle = self.cpus.get(&record.cpu).is_some_and(|cpu| cpu.tid == 0);
        let named = record.tid != 0 && record.tid != u32::MAX;
        let idle = || Record { pid: 0, tid: 0, ..record.clone() };
        (was_idle && named).then(|| self.whole_switch(&idle(), false, (record.pid, record.tid)))
    }

    fn whole_switch(&mut self, record: &Record, preempted: bool, next: (u32, u32)) -> Event {
        let (next_pid, next_tid) = match next {
            (_, u32::MAX) => self.nameless_comes(record.cpu),
            known => known,
        };
        let cpu = self.cpus.entry(record.cpu).or_default();
        // A thread that ended may be forgotten by its number before it leaves.
        let forgotten = record.tid == u32::MAX;
        let prev_tid = if forgotten { cpu.tid } else { record.tid };
        if forgotten && preempted && prev_tid != 0 {
            self.nameless.push((record.cpu, prev_tid));
        }
        cpu.tid = next_tid;
        // The idle task and the kernel's threads borrow the address space that they find.
        let has_own = next_tid != 0 && self.tasks.get(&next_tid).is_none_or(|task| !task.kernel_thread);
        let changed = has_own && cpu.space_pid != next_pid;
        let first = cpu.space_pid == 0;
        if has_own {
            cpu.space_pid = next_pid;
        }
        let prev_state = match preempted {
            true => PrevState::Runnable,
            false if self.leaving.remove(&prev_tid) => PrevState::Dead,
            false => PrevState::Sleeping,
        };
        let address_space_changed = (!first).then_some(changed);
        Event::Switch(Switch {
            preempted,
            address_space_changed,
            ..half(record, prev_tid, next_tid, prev_state)
        })
    }

    /// Process and number of a nameless task that comes to this CPU: most likely the one that left it. The idle task's when that is not known.
    fn nameless_comes(&mut self, cpu: u32) -> (u32, u32) {
        let place = self.nameless.iter().position(|(left, _)| *left == cpu);
        let Some(place) = place.or(self.nameless.len().checked_sub(1)) else { return (0, 0) };
        let (_, tid) = self.nameless.remove(place);
        // Its process is not known any more; its address space is gone.
        (self.cpus.get(&cpu).map_or(0, |cpu| cpu.space_pid), tid)
    }
}

/// What one record of one task says of a switch. 0 stands for the other task.
fn half(record: &Record, prev_tid: u32, next_tid: u32, prev_state: PrevState) -> Switch {
    let preempted = prev_state == PrevState::Runnable;
    Switch { preempted, ..Switch::bare(record.at_ns, record.cpu, prev_tid, next_tid, prev_state) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(at_ns: u64, cpu: u32, tid: u32, what: What) -> Record {
        Record { at_ns, cpu, pid: tid, tid, what }
    }

    fn converted(converter: &mut Converter, records: &[Record]) -> Vec<SampleRecord> {
        let mut all = Vec::new();
        for record in records {
            converter.take(record, |record| all.push(record));
        }
        all
    }

    fn switches(records: &[SampleRecord]) -> Vec<(u32, u32, PrevState, Option<bool>)> {
        let switches = records.iter().filter_map(|record| match record {
            SampleRecord::Event(Event::Switch(one)) => Some(one),
            _ => None,
        });
        switches.map(|one| (one.prev_tid, one.next_tid, one.prev_state, one.address_space_changed)).collect()
    }

    fn out(preempted: bool, next: Option<(u32, u32)>) -> What {
        What::Out { preempted, next }
    }

    #[test]
    fn of_the_machine_a_switch_is_one_record_of_two() {
        let mut converter = Converter::new(true, None);
        converter.know(TaskInfo { tid: 2, pid: 2, kernel_thread: true, ..TaskInfo::default() });
        let records = [
            record(1, 0, 0, out(false, Some((7, 7)))),
            record(2, 0, 7, What::In),
            record(3, 0, 7, out(true, Some((2, 2)))),
            record(4, 0, 2, out(false, Some((7, 7)))),
            record(5, 0, 7, What::Exit { pid: 7, tid: 7 }),
            record(6, 0, u32::MAX, out(false, Some((7, 8)))),
            record(7, 0, 8, out(false, Some((9, 9)))),
        ];
        let found = switches(&converted(&mut converter, &records));
        assert_eq!(
            found,
            [
                (0, 7, PrevState::Sleeping, None),
                (7, 2, PrevState::Runnable, Some(false)),
                (2, 7, PrevState::Sleeping, Some(false)),
                (7, 8, PrevState::Dead, Some(false)),
                (8, 9, PrevState::Sleeping, Some(true)),
            ]
        );
    }

    #[test]
    fn a_thread_that_lost_its_number_is_still_itself() {
        let mut converter = Converter::new(true, None);
        let gone = u32::MAX;
        let records = [
            record(1, 0, 0, out(true, Some((7, 8)))),
            record(2, 0, 8, What::Exit { pid: 7, tid: 8 }),
            record(3, 0, gone, out(true, Some((9, 9)))),
            record(4, 0, 9, out(false, Some((gone, gone)))),
            record(5, 0, gone, out(false, Some((0, 0)))),
            record(6, 1, 0, out(true, Some((gone, gone)))),
        ];
        let found: Vec<_> = switches(&converted(&mut converter, &records))
            .into_iter()
            .map(|row| (row.0, row.1, row.2))
            .collect();
        let (ready, asleep) = (PrevState::Runnable, PrevState::Sleeping);
        assert_eq!(
            found,
            [(0, 8, ready), (8, 9, ready), (9, 8, asleep), (8, 0, PrevState::Dead), (0, 0, ready)]
        );
    }

    #[test]
    fn a_task_tells_of_itself_and_its_end_is_its_last_switch() {
        let mut converter = Converter::new(false, Some(5));
        converter.know(TaskInfo { tid: 5, pid: 5, comm: "swtch".into(), ..TaskInfo::default() });
        let records = [
            record(1, 0, 5, out(false, None)),
            record(2, 0, 5, What::Fork { pid: 7, tid: 7, parent_pid: 5, parent_tid: 5 }),
            record(2, 0, 5, What::Fork { pid: 5, tid: 6, parent_pid: 5, parent_tid: 5 }),
            record(3, 1, 7, What::In),
            record(4, 1, 7, What::Comm { pid: 7, tid: 7, comm: "make".into(), exec: true }),
            record(5, 1, 7, out(true, None)),
            record(6, 0, 7, What::In),
            record(7, 0, 7, What::Comm { pid: 7, tid: 7, comm: "make2".into(), exec: false }),
            record(8, 0, 7, What::Exit { pid: 7, tid: 7 }),
        ];
        let all = converted(&mut converter, &records);
        let found = switches(&all);
        assert_eq!(
            found,
            [
                (0, 7, PrevState::Runnable, None),
                (7, 0, PrevState::Runnable, None),
                (0, 7, PrevState::Runnable, None),
                (7, 0, PrevState::Dead, None),
            ]
        );
        let lives = all.iter().filter_map(|record| match record {
            SampleRecord::Event(Event::Life(life)) => Some((life.kind, life.comm.as_str(), life.parent_pid)),
            _ => None,
        });
        assert_eq!(
            lives.collect::<Vec<_>>(),
            [(LifeKind::Fork, "swtch", 5), (LifeKind::Exec, "make", 5), (LifeKind::Exit, "make2", 5)]
        );
        assert!(
            all.iter().any(|record| matches!(record, SampleRecord::Name(known) if known.comm == "make2"))
        );
    }

    proptest! {
        #[test]
        fn nothing_panics(
            records in prop::collection::vec((any::<u64>(), 0_u32..3, any::<u32>(), 0_u32..4, 0_u8..7), 0..100),
            whole in any::<bool>(),
        ) {
            let mut converter = Converter::new(whole, Some(1));
            for (at_ns, cpu, other, tid, kind) in records {
                let what = match kind {
                    0 => out(other % 2 == 0, (other % 3 > 0).then_some((other % 5, other % 7))),
                    1 => What::In,
                    2 => What::Comm { pid: tid, tid: other % 5, comm: "x".into(), exec: other % 2 == 0 },
                    3 => What::Fork { pid: other % 5, tid: other % 7, parent_pid: tid, parent_tid: tid },
                    4 => What::Exit { pid: tid, tid: other % 5 },
                    5 => What::Lost(1),
                    _ => What::Other,
                };
                let tid = if other % 11 == 0 { u32::MAX } else { tid };
                converter.take(&record(at_ns, cpu, tid, what), |_| {});
            }
        }
    }

    #[test]
    fn the_idle_task_need_not_tell_that_it_leaves() {
        let mut converter = Converter::new(true, None);
        let mut switches = Vec::new();
        for (at_ns, tid, what) in [
            (1, 5, What::Out { preempted: false, next: Some((0, 0)) }),
            (2, 0, What::In),
            // Idle leaves in silence, then as it should.
            (3, 7, What::In),
            (4, 7, What::Out { preempted: false, next: Some((0, 0)) }),
            (5, 0, What::Out { preempted: true, next: Some((5, 5)) }),
            (6, 5, What::In),
        ] {
            converter.take(&record(at_ns, 0, tid, what), |record| match record {
                SampleRecord::Event(Event::Switch(switch)) => {
                    switches.push((switch.prev_tid, switch.next_tid));
                }
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(switches, [(5, 0), (0, 7), (7, 0), (0, 5)]);
    }
}
