//! Run queues ordered by a key: the tasks of each CPU.
//!
//! The kernel has red-black trees (`cfs_rq->tasks_timeline`). Heaps do the same more cheaply here. A task that is taken out from the
//! middle, which is rare, leaves its entry behind. The entry is dropped when it comes up.

use super::heap::Heap;
use crate::prefetch::{WORTH_FETCHING, prefetch};

/// Bits of a sequence that name the task; the others count insertions, so that of equal keys the one that came first goes first.
const TASK_BITS: u32 = 24;

/// A task's place in a queue. 0 is none.
pub(super) type Sequence = u64;

fn task_of(sequence: Sequence) -> usize {
    (sequence & ((1 << TASK_BITS) - 1)) as usize
}

/// The sequence of a task that comes into a queue as the `given`-th.
#[inline]
fn sequence(given: &mut u64, task: usize) -> Sequence {
    *given += 1;
    (*given << TASK_BITS) | task as u64
}

/// Drops what has been taken out from the top, and everything else of that kind when there is too much of it.
#[inline]
fn tidy(heap: &mut Heap, queued: usize, is_valid: impl Fn(Sequence) -> bool) {
    while heap.peek().is_some_and(|(_, sequence)| !is_valid(sequence)) {
        heap.pop();
    }
    if heap.len() > 2 * queued + 64 {
        heap.retain(|(_, sequence)| is_valid(sequence));
    }
}

/// Queues ordered by one key: a task is in one of them at most.
#[derive(Clone, Debug, Default)]
pub(super) struct RunQueues {
    heaps: Vec<Heap>,
    queued: Vec<usize>,
    /// Each task's valid sequence.
    sequences: Vec<Sequence>,
    given: u64,
}

impl RunQueues {
    pub(super) fn set_cpus(&mut self, cpus: usize) {
        self.heaps = vec![Heap::default(); cpus];
        self.queued = vec![0; cpus];
    }

    pub(super) fn add_task(&mut self) {
        self.sequences.push(0);
    }

    #[inline]
    pub(super) fn insert(&mut self, cpu: usize, task: usize, key: i64) {
        let sequence = sequence(&mut self.given, task);
        self.sequences[task] = sequence;
        self.heaps[cpu].push((key, sequence));
        self.queued[cpu] += 1;
    }

    #[inline]
    pub(super) fn remove(&mut self, cpu: usize, task: usize) {
        self.sequences[task] = 0;
        self.queued[cpu] -= 1;
        self.tidy(cpu);
    }

    /// The task with the least key.
    #[inline]
    pub(super) fn first(&self, cpu: usize) -> Option<usize> {
        self.heaps[cpu].peek().map(|(_, sequence)| task_of(sequence))
    }

    /// The second task by key.
    pub(super) fn second(&mut self, cpu: usize) -> Option<usize> {
        let top = self.heaps[cpu].pop()?;
        self.tidy(cpu);
        let second = self.first(cpu);
        self.heaps[cpu].push(top);
        second
    }

    /// A task that fits among some of the queue's later ones.
    pub(super) fn late(&self, cpu: usize, most: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let is_valid = |sequence| self.sequences[task_of(sequence)] == sequence;
        late(&self.heaps[cpu], is_valid, most, fits)
    }

    #[inline]
    fn tidy(&mut self, cpu: usize) {
        let sequences = &self.sequences;
        tidy(&mut self.heaps[cpu], self.queued[cpu], |sequence| sequences[task_of(sequence)] == sequence);
    }
}

fn late(
    heap: &Heap,
    is_valid: impl Fn(Sequence) -> bool,
    most: usize,
    fits: impl Fn(usize) -> bool,
) -> Option<usize> {
    let entries = heap.iter().rev().map(|(_, sequence)| sequence);
    entries.filter(|sequence| is_valid(*sequence)).take(most).map(task_of).find(|task| fits(*task))
}

/// The fields that a queue with two keys needs of a task. They lie next to the task's other fields, so that both come into the cache
/// together. They do not change while the task is queued.
pub(super) trait QueuedEntity {
    /// Its place in a queue.
    fn sequence(&self) -> Sequence;
    fn set_sequence(&mut self, sequence: Sequence);
    fn deadline(&self) -> i64;
    fn vruntime(&self) -> i64;
}

/// Queues of which the task with the earliest deadline is wanted among those whose virtual run time is not too large. Those that are
/// known to fit are ordered by deadline, the others by virtual run time. The limit moves; what has come to the wrong side changes it
/// when it comes up, so the answer is exact. `tasks` are always the same.
#[derive(Clone, Debug, Default)]
pub(super) struct DeadlineQueues {
    fitting: Vec<Heap>,
    waiting: Vec<Heap>,
    queued: Vec<usize>,
    given: u64,
}

impl DeadlineQueues {
    pub(super) fn set_cpus(&mut self, cpus: usize) {
        self.fitting = vec![Heap::default(); cpus];
        self.waiting = vec![Heap::default(); cpus];
        self.queued = vec![0; cpus];
    }

    #[inline]
    pub(super) fn insert<T: QueuedEntity>(&mut self, tasks: &mut [T], cpu: usize, task: usize) {
        let sequence = sequence(&mut self.given, task);
        tasks[task].set_sequence(sequence);
        self.waiting[cpu].push((tasks[task].vruntime(), sequence));
        self.queued[cpu] += 1;
    }

    #[inline]
    pub(super) fn remove<T: QueuedEntity>(&mut self, tasks: &mut [T], cpu: usize, task: usize) {
        tasks[task].set_sequence(0);
        self.queued[cpu] -= 1;
        tidy(&mut self.fitting[cpu], self.queued[cpu], |sequence| is_valid(tasks, sequence));
        tidy(&mut self.waiting[cpu], self.queued[cpu], |sequence| is_valid(tasks, sequence));
    }

    /// The task with the earliest deadline among those whose virtual run time fits. What fits must also fit when it is less.
    #[inline]
    pub(super) fn first_fitting<T: QueuedEntity>(
        &mut self,
        tasks: &[T],
        cpu: usize,
        fits: impl Fn(i64) -> bool,
    ) -> Option<usize> {
        let (fitting, waiting) = (&mut self.fitting[cpu], &mut self.waiting[cpu]);
        while let Some((vruntime, sequence)) = waiting.peek() {
            let valid = is_valid(tasks, sequence);
            if valid && !fits(vruntime) {
                break;
            }
            waiting.pop();
            if valid {
                fitting.push((tasks[task_of(sequence)].deadline(), sequence));
            }
        }
        while let Some((_, sequence)) = fitting.peek() {
            if is_valid(tasks, sequence) {
                let vruntime = tasks[task_of(sequence)].vruntime();
                if fits(vruntime) {
                    return Some(task_of(sequence));
                }
                waiting.push((vruntime, sequence));
            }
            fitting.pop();
        }
        None
    }

    /// Fetches the tasks that will come up next. The first one is `next`. Of the others it fetches only what shows which is next.
    #[inline]
    pub(super) fn prepare<T: QueuedEntity>(&self, tasks: &[T], cpu: usize, next: impl Fn(usize)) {
        if tasks.len() < WORTH_FETCHING {
            return;
        }
        let (fitting, waiting) = (&self.fitting[cpu], &self.waiting[cpu]);
        if let Some((_, sequence)) = fitting.peek() {
            next(task_of(sequence));
        }
        // When the first goes, one of its two children comes up.
        for (_, sequence) in fitting.iter().take(3).chain(waiting.iter().take(3)) {
            prefetch(tasks, task_of(sequence));
        }
    }

    /// The task with the least virtual run time.
    pub(super) fn least<T: QueuedEntity>(&self, tasks: &[T], cpu: usize) -> Option<usize> {
        let all = self.fitting[cpu].iter().chain(self.waiting[cpu].iter()).map(|(_, sequence)| sequence);
        all.filter(|sequence| is_valid(tasks, *sequence))
            .map(task_of)
            .min_by_key(|task| (tasks[*task].vruntime(), *task))
    }

    /// A task that fits among some of the queue's later ones.
    pub(super) fn late<T: QueuedEntity>(
        &self,
        tasks: &[T],
        cpu: usize,
        most: usize,
        fits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        late(&self.waiting[cpu], |sequence| is_valid(tasks, sequence), most, &fits)
            .or_else(|| late(&self.fitting[cpu], |sequence| is_valid(tasks, sequence), most, &fits))
    }
}

#[inline]
fn is_valid<T: QueuedEntity>(tasks: &[T], sequence: Sequence) -> bool {
    tasks[task_of(sequence)].sequence() == sequence
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Default)]
    struct Plain {
        sequence: Sequence,
        deadline: i64,
        vruntime: i64,
    }

    impl QueuedEntity for Plain {
        fn sequence(&self) -> Sequence {
            self.sequence
        }

        fn set_sequence(&mut self, sequence: Sequence) {
            self.sequence = sequence;
        }

        fn deadline(&self) -> i64 {
            self.deadline
        }

        fn vruntime(&self) -> i64 {
            self.vruntime
        }
    }

    type Steps = Vec<(usize, i64, i64)>;

    fn steps() -> impl Strategy<Value = Steps> {
        prop::collection::vec((0_usize..40, -20_i64..20, -20_i64..20), 1..300)
    }

    /// Puts a task into a sorted list, or takes it out.
    fn toggle(list: &mut Steps, (task, key, vruntime): (usize, i64, i64)) -> bool {
        if let Some(place) = list.iter().position(|(known, _, _)| *known == task) {
            list.remove(place);
            return false;
        }
        let place = list.partition_point(|(_, known, _)| *known <= key);
        list.insert(place, (task, key, vruntime));
        true
    }

    proptest! {
        #[test]
        fn a_line_answers_as_a_sorted_list_does(steps in steps()) {
            let mut queues = RunQueues::default();
            queues.set_cpus(2);
            (0..40).for_each(|_| queues.add_task());
            let mut list = Steps::new();
            for step in steps {
                if toggle(&mut list, step) { queues.insert(1, step.0, step.1) } else { queues.remove(1, step.0) }
                prop_assert_eq!(queues.first(1), list.first().map(|row| row.0));
                prop_assert_eq!(queues.second(1), list.get(1).map(|row| row.0));
                prop_assert_eq!(queues.late(1, 40, |task| task > 38), list.iter().map(|row| row.0).find(|task| *task > 38));
            }
            prop_assert_eq!(queues.first(0), None);
        }

        #[test]
        fn the_earliest_that_fits_is_found_wherever_the_limit_goes(steps in steps(), limits in prop::collection::vec(-25_i64..25, 300)) {
            let mut queues = DeadlineQueues::default();
            queues.set_cpus(2);
            let mut tasks = [Plain::default(); 40];
            let mut list = Steps::new();
            for (step, limit) in steps.into_iter().zip(limits) {
                if toggle(&mut list, step) {
                    tasks[step.0] = Plain { deadline: step.1, vruntime: step.2, sequence: 0 };
                    queues.insert(&mut tasks, 1, step.0);
                } else {
                    queues.remove(&mut tasks, 1, step.0);
                }
                let fitting = list.iter().find(|row| row.2 <= limit).map(|row| row.1);
                let found = queues.first_fitting(&tasks, 1, |vruntime| vruntime <= limit);
                prop_assert_eq!(found.map(|task| list.iter().find(|row| row.0 == task).unwrap().1), fitting);
                let least = list.iter().map(|row| row.2).min();
                prop_assert_eq!(queues.least(&tasks, 1).map(|task| list.iter().find(|row| row.0 == task).unwrap().2), least);
                prop_assert_eq!(queues.late(&tasks, 1, 40, |task| task > 38).is_some(), list.iter().any(|row| row.0 > 38));
            }
        }
    }

    #[test]
    fn of_equal_keys_the_first_goes_first() {
        let mut queues = RunQueues::default();
        queues.set_cpus(1);
        (0..3).for_each(|_| queues.add_task());
        for task in [2, 0, 1] {
            queues.insert(0, task, 5);
        }
        let order = std::array::from_fn(|_| {
            let first = queues.first(0).unwrap();
            queues.remove(0, first);
            first
        });
        assert_eq!(order, [2, 0, 1]);
    }
}
