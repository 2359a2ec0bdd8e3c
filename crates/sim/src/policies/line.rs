//! Run queues ordered by a key: the tasks of each CPU.
//!
//! The kernel has red-black trees (`cfs_rq->tasks_timeline`). Heaps do the same more cheaply here: a task that is taken out from the
//! middle, which is rare, leaves its entry behind, which is dropped when it comes up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits of a ticket that name the task; the others count insertions, so that of equal keys the one that came first goes first.
const TASK_BITS: u32 = 24;

/// A task's place in a queue. 0 is none.
type Ticket = u64;

fn task_of(ticket: Ticket) -> usize {
    (ticket & ((1 << TASK_BITS) - 1)) as usize
}

/// Gives out tickets, and knows the valid one of each task.
#[derive(Clone, Debug, Default)]
struct Tickets {
    valid: Vec<Ticket>,
    given: u64,
}

impl Tickets {
    #[inline]
    fn give(&mut self, task: usize) -> Ticket {
        self.given += 1;
        let ticket = (self.given << TASK_BITS) | task as u64;
        self.valid[task] = ticket;
        ticket
    }

    #[inline]
    fn is_valid(&self, ticket: Ticket) -> bool {
        self.valid[task_of(ticket)] == ticket
    }
}

type Heap = BinaryHeap<Reverse<(i64, Ticket)>>;

/// Drops what has been taken out from the top, and everything else of that kind when there is too much of it.
fn tidy(heap: &mut Heap, tickets: &Tickets, queued: usize) {
    while heap.peek().is_some_and(|Reverse((_, ticket))| !tickets.is_valid(*ticket)) {
        heap.pop();
    }
    if heap.len() > 2 * queued + 64 {
        heap.retain(|Reverse((_, ticket))| tickets.is_valid(*ticket));
    }
}

/// Queues ordered by one key: a task is in one of them at most.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    heaps: Vec<Heap>,
    queued: Vec<usize>,
    tickets: Tickets,
}

impl Lines {
    pub(super) fn set_cpus(&mut self, cpus: usize) {
        self.heaps = vec![Heap::new(); cpus];
        self.queued = vec![0; cpus];
    }

    pub(super) fn add_task(&mut self) {
        self.tickets.valid.push(0);
    }

    #[inline]
    pub(super) fn insert(&mut self, cpu: usize, task: usize, key: i64) {
        let ticket = self.tickets.give(task);
        self.heaps[cpu].push(Reverse((key, ticket)));
        self.queued[cpu] += 1;
    }

    #[inline]
    pub(super) fn remove(&mut self, cpu: usize, task: usize) {
        self.tickets.valid[task] = 0;
        self.queued[cpu] -= 1;
        tidy(&mut self.heaps[cpu], &self.tickets, self.queued[cpu]);
    }

    /// The task with the least key.
    #[inline]
    pub(super) fn first(&self, cpu: usize) -> Option<usize> {
        self.heaps[cpu].peek().map(|Reverse((_, ticket))| task_of(*ticket))
    }

    /// The second task by key.
    pub(super) fn second(&mut self, cpu: usize) -> Option<usize> {
        let top = self.heaps[cpu].pop()?;
        tidy(&mut self.heaps[cpu], &self.tickets, self.queued[cpu]);
        let second = self.first(cpu);
        self.heaps[cpu].push(top);
        second
    }

    /// A task that fits among some of the queue's later ones.
    pub(super) fn late(&self, cpu: usize, most: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        late(&self.heaps[cpu], &self.tickets, most, fits)
    }
}

fn late(heap: &Heap, tickets: &Tickets, most: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let entries = heap.as_slice().iter().rev().map(|Reverse((_, ticket))| *ticket);
    entries.filter(|ticket| tickets.is_valid(*ticket)).take(most).map(task_of).find(|task| fits(*task))
}

/// The two keys of a task.
#[derive(Clone, Copy, Debug, Default)]
struct Keys {
    deadline: i64,
    vruntime: i64,
}

/// Queues of which the task with the earliest deadline is wanted among those whose virtual run time is not too large: those that are
/// known to fit are ordered by deadline, the others by virtual run time. The limit moves; what has come to the wrong side changes
/// it when it comes up, so the answer is exact.
#[derive(Clone, Debug, Default)]
pub(super) struct DeadlineLines {
    fitting: Vec<Heap>,
    waiting: Vec<Heap>,
    queued: Vec<usize>,
    keys: Vec<Keys>,
    tickets: Tickets,
}

impl DeadlineLines {
    pub(super) fn set_cpus(&mut self, cpus: usize) {
        self.fitting = vec![Heap::new(); cpus];
        self.waiting = vec![Heap::new(); cpus];
        self.queued = vec![0; cpus];
    }

    pub(super) fn add_task(&mut self) {
        self.tickets.valid.push(0);
        self.keys.push(Keys::default());
    }

    #[inline]
    pub(super) fn insert(&mut self, cpu: usize, task: usize, deadline: i64, vruntime: i64) {
        let ticket = self.tickets.give(task);
        self.keys[task] = Keys { deadline, vruntime };
        self.waiting[cpu].push(Reverse((vruntime, ticket)));
        self.queued[cpu] += 1;
    }

    #[inline]
    pub(super) fn remove(&mut self, cpu: usize, task: usize) {
        self.tickets.valid[task] = 0;
        self.queued[cpu] -= 1;
        tidy(&mut self.fitting[cpu], &self.tickets, self.queued[cpu]);
        tidy(&mut self.waiting[cpu], &self.tickets, self.queued[cpu]);
    }

    /// The task with the earliest deadline among those whose virtual run time fits. What fits must also fit when it is less.
    #[inline]
    pub(super) fn first_fitting(&mut self, cpu: usize, fits: impl Fn(i64) -> bool) -> Option<usize> {
        let (fitting, waiting) = (&mut self.fitting[cpu], &mut self.waiting[cpu]);
        while let Some(Reverse((vruntime, ticket))) = waiting.peek().copied() {
            let valid = self.tickets.is_valid(ticket);
            if valid && !fits(vruntime) {
                break;
            }
            waiting.pop();
            if valid {
                fitting.push(Reverse((self.keys[task_of(ticket)].deadline, ticket)));
            }
        }
        while let Some(Reverse((_, ticket))) = fitting.peek().copied() {
            if self.tickets.is_valid(ticket) {
                let vruntime = self.keys[task_of(ticket)].vruntime;
                if fits(vruntime) {
                    return Some(task_of(ticket));
                }
                waiting.push(Reverse((vruntime, ticket)));
            }
            fitting.pop();
        }
        None
    }

    /// The task with the least virtual run time.
    pub(super) fn least(&self, cpu: usize) -> Option<usize> {
        let of = |heap: &Heap| heap.iter().map(|Reverse((_, ticket))| *ticket).collect::<Vec<_>>();
        let all = of(&self.fitting[cpu]).into_iter().chain(of(&self.waiting[cpu]));
        all.filter(|ticket| self.tickets.is_valid(*ticket))
            .map(task_of)
            .min_by_key(|task| (self.keys[*task].vruntime, *task))
    }

    /// A task that fits among some of the queue's later ones.
    pub(super) fn late(&self, cpu: usize, most: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        late(&self.waiting[cpu], &self.tickets, most, &fits)
            .or_else(|| late(&self.fitting[cpu], &self.tickets, most, &fits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            let mut lines = Lines::default();
            lines.set_cpus(2);
            (0..40).for_each(|_| lines.add_task());
            let mut list = Steps::new();
            for step in steps {
                if toggle(&mut list, step) { lines.insert(1, step.0, step.1) } else { lines.remove(1, step.0) }
                prop_assert_eq!(lines.first(1), list.first().map(|row| row.0));
                prop_assert_eq!(lines.second(1), list.get(1).map(|row| row.0));
                prop_assert_eq!(lines.late(1, 40, |task| task > 38), list.iter().map(|row| row.0).find(|task| *task > 38));
            }
            prop_assert_eq!(lines.first(0), None);
        }

        #[test]
        fn the_earliest_that_fits_is_found_wherever_the_limit_goes(steps in steps(), limits in prop::collection::vec(-25_i64..25, 300)) {
            let mut lines = DeadlineLines::default();
            lines.set_cpus(2);
            (0..40).for_each(|_| lines.add_task());
            let mut list = Steps::new();
            for (step, limit) in steps.into_iter().zip(limits) {
                if toggle(&mut list, step) { lines.insert(1, step.0, step.1, step.2) } else { lines.remove(1, step.0) }
                let fitting = list.iter().find(|row| row.2 <= limit).map(|row| row.1);
                let found = lines.first_fitting(1, |vruntime| vruntime <= limit);
                prop_assert_eq!(found.map(|task| list.iter().find(|row| row.0 == task).unwrap().1), fitting);
                let least = list.iter().map(|row| row.2).min();
                prop_assert_eq!(lines.least(1).map(|task| list.iter().find(|row| row.0 == task).unwrap().2), least);
                prop_assert_eq!(lines.late(1, 40, |task| task > 38).is_some(), list.iter().any(|row| row.0 > 38));
            }
        }
    }

    #[test]
    fn of_equal_keys_the_first_goes_first() {
        let mut lines = Lines::default();
        lines.set_cpus(1);
        (0..3).for_each(|_| lines.add_task());
        for task in [2, 0, 1] {
            lines.insert(0, task, 5);
        }
        let order = std::array::from_fn(|_| {
            let first = lines.first(0).unwrap();
            lines.remove(0, first);
            first
        });
        assert_eq!(order, [2, 0, 1]);
    }
}
