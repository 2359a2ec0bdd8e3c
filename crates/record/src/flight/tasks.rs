//! What conditions need to know of each task, and no more: all that a recording knows of it would take most of the reader's time. Its waits and
//! slices are those of [`Accumulator`](swtch_trace::accumulate::Accumulator), but for a task that comes while its CPU is stolen.

use super::subject::Subject;
use rustc_hash::FxHashMap;
use std::collections::HashSet;
use swtch_trace::accumulate::TaskInfo;
use swtch_trace::event::{Life, LifeKind, PrevState, Switch, Wake};

/// A task.
#[derive(Clone, Debug, Default)]
struct WindowTask {
    /// Since when it waits, runs, and is away from its CPU; its latest event, ns.
    queued_ns: Option<u64>,
    running_since_ns: Option<u64>,
    left_ns: u64,
    last_ns: u64,
    cpu: u32,
    /// The subjects that it is part of.
    subjects: Vec<u16>,
}

/// All tasks that exist, as far as events name them.
#[derive(Debug)]
pub(super) struct WindowTasks {
    subjects: Vec<Subject>,
    /// The subjects of every task.
    of_all: Vec<u16>,
    tasks: FxHashMap<u32, WindowTask>,
    /// By CPU, the task that came last.
    current: Vec<u32>,
}

impl WindowTasks {
    pub(super) fn new(subjects: Vec<Subject>, tasks: &[TaskInfo]) -> Self {
        let of_all = (0..).zip(&subjects).filter(|(_, of)| **of == Subject::All).map(|(index, _)| index);
        let of_all = of_all.collect();
        let mut new = Self { subjects, of_all, tasks: FxHashMap::default(), current: Vec::new() };
        for task in tasks {
            let subjects = new.named(&task.comm, &[]);
            new.tasks.insert(task.tid, WindowTask { subjects, ..WindowTask::default() });
        }
        new
    }

    /// The subjects of a task of this name that is in the cgroups of `of`.
    fn named(&self, comm: &str, of: &[u16]) -> Vec<u16> {
        let is_of = |(index, subject): &(u16, &Subject)| match subject {
            Subject::All => true,
            Subject::Task(name) => name == comm,
            Subject::Cgroup(_) => of.contains(index),
        };
        (0..).zip(&self.subjects).filter(is_of).map(|(index, _)| index).collect()
    }

    fn task<'a>(tasks: &'a mut FxHashMap<u32, WindowTask>, of_all: &[u16], tid: u32) -> &'a mut WindowTask {
        tasks.entry(tid).or_insert_with(|| WindowTask { subjects: of_all.to_vec(), ..WindowTask::default() })
    }

    /// A task is woken. Returns its subjects.
    pub(super) fn wake(&mut self, wake: &Wake) -> &[u16] {
        let task = Self::task(&mut self.tasks, &self.of_all, wake.wakee_tid);
        if wake.at_ns >= task.last_ns {
            task.queued_ns = Some(wake.at_ns);
            task.last_ns = wake.at_ns;
        }
        &task.subjects
    }

    /// A task leaves its CPU. Returns how long it ran, where that was observed, and its subjects.
    pub(super) fn leaves(&mut self, switch: &Switch) -> (Option<u64>, &[u16]) {
        self.leaves_unseen(switch);
        if switch.prev_tid == 0 {
            return (None, &self.of_all);
        }
        let task = Self::task(&mut self.tasks, &self.of_all, switch.prev_tid);
        let mut ran_ns = None;
        if switch.at_ns >= task.last_ns {
            // In the interval another task may have run here, where switches have no event.
            let since_ns =
                task.running_since_ns.take().filter(|_| !switch.after_gap && task.cpu == switch.cpu);
            ran_ns = since_ns.map(|since_ns| switch.at_ns.saturating_sub(since_ns));
            (task.cpu, task.left_ns, task.last_ns) = (switch.cpu, switch.at_ns, switch.at_ns);
            if switch.prev_state == PrevState::Runnable {
                task.queued_ns = Some(switch.at_ns);
            }
        }
        (ran_ns, &task.subjects)
    }

    /// The task that came last left without an event: it must not seem to run on.
    fn leaves_unseen(&mut self, switch: &Switch) {
        let Some(current) = self.current.get(switch.cpu as usize).filter(|tid| **tid != switch.prev_tid)
        else {
            return;
        };
        if let Some(task) = self.tasks.get_mut(current)
            && task.cpu == switch.cpu
            && task.running_since_ns.is_some_and(|since_ns| since_ns <= switch.at_ns)
        {
            task.running_since_ns = None;
        }
    }

    /// A task comes to a CPU. Returns how long it waited, where that was observed, and its subjects.
    pub(super) fn comes(&mut self, switch: &Switch) -> (Option<u64>, &[u16]) {
        let index = switch.cpu as usize;
        if index >= self.current.len() {
            self.current.resize(index + 1, 0);
        }
        self.current[index] = switch.next_tid;
        if switch.next_tid == 0 {
            return (None, &[]);
        }
        let task = Self::task(&mut self.tasks, &self.of_all, switch.next_tid);
        if switch.at_ns < task.last_ns {
            return (None, &[]);
        }
        // A task may be woken on its way out, before it left.
        let queued_ns = task.queued_ns.take().map(|queued_ns| queued_ns.max(task.left_ns));
        task.running_since_ns = Some(switch.left_ns());
        (task.cpu, task.last_ns) = (switch.cpu, switch.at_ns);
        (queued_ns.map(|queued_ns| switch.at_ns.saturating_sub(queued_ns)), &task.subjects)
    }

    /// Forgets a task that left for good.
    pub(super) fn ends(&mut self, switch: &Switch) {
        if switch.prev_state == PrevState::Dead {
            self.tasks.remove(&switch.prev_tid);
        }
    }

    /// A task is made or renamed. A new one is in the cgroups of its maker.
    pub(super) fn life(&mut self, life: &Life) {
        let is_new = life.kind == LifeKind::Fork;
        let maker = if life.tid == life.pid { life.parent_pid } else { life.pid };
        let of = self.tasks.get(if is_new { &maker } else { &life.tid });
        let subjects = self.named(&life.comm, of.map_or(&[], |task| &task.subjects));
        if is_new {
            self.tasks.remove(&life.tid);
        }
        let task = Self::task(&mut self.tasks, &self.of_all, life.tid);
        task.subjects = subjects;
        task.last_ns = task.last_ns.max(life.at_ns);
    }

    /// Sets which tasks are part of a subject.
    pub(super) fn set_members(&mut self, subject: u16, tids: &HashSet<u32>) {
        for (tid, task) in &mut self.tasks {
            if !tids.contains(tid) {
                task.subjects.retain(|of| *of != subject);
            }
        }
        for tid in tids {
            let task = Self::task(&mut self.tasks, &self.of_all, *tid);
            if !task.subjects.contains(&subject) {
                task.subjects.push(subject);
            }
        }
    }

    /// Forgets tasks that exist no more and whose end was lost.
    pub(super) fn forget_unless(&mut self, exists: impl Fn(u32) -> bool) {
        self.tasks.retain(|tid, _| exists(*tid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use swtch_trace::accumulate::{Accumulator, CacheGroups};
    use swtch_trace::event::Event;
    use swtch_trace::tables::SwitchRow;

    /// How long a task ran and waited, by when and where the switch was.
    type Times = BTreeMap<(u64, u32), (Option<u64>, Option<u64>)>;

    /// Waits and slices by the accumulator of recordings, and by this.
    fn both(events: &[Event]) -> [Times; 2] {
        let mut accumulator = Accumulator::new(0, CacheGroups::default(), false);
        let mut rows: Vec<SwitchRow> = Vec::new();
        let mut tasks = WindowTasks::new(vec![Subject::All], &[]);
        let mut own = BTreeMap::new();
        for event in events {
            accumulator.take(event, &mut rows);
            match event {
                Event::Switch(switch) => {
                    let ran_ns = tasks.leaves(switch).0;
                    tasks.ends(switch);
                    own.insert((switch.at_ns, switch.cpu), (ran_ns, tasks.comes(switch).0));
                }
                Event::Wake(wake) => drop(tasks.wake(wake).len()),
                Event::Life(life) => tasks.life(life),
                Event::Interrupts(_) | Event::Idle(_) => {}
            }
        }
        accumulator.end(&mut rows);
        let rows = rows.iter().map(|row| ((row.at_ns, row.cpu), (row.ran_ns, row.waited_ns)));
        [rows.collect(), own]
    }

    proptest! {
        /// Any events in the order of time: what was lost may make them contradict each other.
        #[test]
        fn waits_and_slices_are_those_of_a_recording(
            steps in prop::collection::vec((0_u32..3, 0_u32..6, 0_u32..6, 0_u8..8, any::<bool>()), 1..200)
        ) {
            let states = [PrevState::Runnable, PrevState::Sleeping, PrevState::Uninterruptible, PrevState::Dead];
            let events: Vec<Event> = (1_u64..).zip(&steps).map(|(index, (cpu, one, other, kind, after_gap))| {
                let (at_ns, cpu, one, other) = (1_000 * index, *cpu, *one, *other);
                if *kind >= 4 {
                    return Event::Wake(Wake { at_ns, cpu, wakee_tid: one.max(1), waker_tid: None, new: false });
                }
                let switch = Switch::bare(at_ns, cpu, one, other, states[usize::from(*kind)]);
                Event::Switch(Switch { after_gap: *after_gap, ..switch })
            }).collect();
            let [recorded, own] = both(&events);
            prop_assert_eq!(recorded, own);
        }
    }
}
