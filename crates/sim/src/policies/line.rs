//! Run queues ordered by a key: the tasks of each CPU.
//!
//! The kernel has red-black trees (`cfs_rq->tasks_timeline`). Heaps do the same more cheaply here: a task that is taken out from the
//! middle, which is rare, leaves its entry behind, which is dropped when it comes up.

use super::heap::Heap;
use crate::prefetch::{WORTH_FETCHING, prefetch};

/// Bits of a ticket that name the task; the others count insertions, so that of equal keys the one that came first goes first.
const TASK_BITS: u32 = 24;

/// A task's place in a queue. 0 is none.
pub(super) type Ticket = u64;

fn task_of(ticket: Ticket) -> usize {
    (ticket & ((1 << TASK_BITS) - 1)) as usize
}

/// The ticket of a task that comes into a queue as the `given`-th.
#[inline]
fn ticket(given: &mut u64, task: usize) -> Ticket {
    *given += 1;
    (*given << TASK_BITS) | task as u64
}

/// Drops what has been taken out from the top, and everything else of that kind when there is too much of it.
#[inline]
fn tidy(heap: &mut Heap, queued: usize, is_valid: impl Fn(Ticket) -> bool) {
    while heap.peek().is_some_and(|(_, ticket)| !is_valid(ticket)) {
        heap.pop();
    }
    if heap.len() > 2 * queued + 64 {
        heap.retain(|(_, ticket)| is_valid(ticket));
    }
}

/// Queues ordered by one key: a task is in one of them at most.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    heaps: Vec<Heap>,
    queued: Vec<usize>,
    /// Each task's valid ticket.
    tickets: Vec<Ticket>,
    given: u64,
}

impl Lines {
    pub(super) fn set_cpus(&mut self, cpus: usize) {
        self.heaps = vec![Heap::default(); cpus];
        self.queued = vec![0; cpus];
    }

    pub(super) fn add_task(&mut self) {
        self.tickets.push(0);
    }

    #[inline]
    pub(super) fn insert(&mut self, cpu: usize, task: usize, key: i64) {
        let ticket = ticket(&mut self.given, task);
        self.tickets[task] = ticket;
        self.heaps[cpu].push((key, ticket));
        self.queued[cpu] += 1;
    }

    #[inline]
    pub(super) fn remove(&mut self, cpu: usize, task: usize) {
        self.tickets[task] = 0;
        self.queued[cpu] -= 1;
        self.tidy(cpu);
    }

    /// The task with the least key.
    #[inline]
    pub(super) fn first(&self, cpu: usize) -> Option<usize> {
        self.heaps[cpu].peek().map(|(_, ticket)| task_of(ticket))
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
        let is_valid = |ticket| self.tickets[task_of(ticket)] == ticket;
        late(&self.heaps[cpu], is_valid, most, fits)
    }

    #[inline]
    fn tidy(&mut self, cpu: usize) {
        let tickets = &self.tickets;
        tidy(&mut self.heaps[cpu], self.queued[cpu], |ticket| tickets[task_of(ticket)] == ticket);
    }
}

fn late(
    heap: &Heap,
    is_valid: impl Fn(Ticket) -> bool,
    most: usize,
    fits: impl Fn(usize) -> bool,
) -> Option<usize> {
    let entries = heap.iter().rev().map(|(_, ticket)| ticket);
    entries.filter(|ticket| is_valid(*ticket)).take(most).map(task_of).find(|task| fits(*task))
}

/// What a queue with two keys needs of a task. It lies with the rest of what is known of the task, so that both come into the cache
/// together; while the task is queued, nobody changes it.
pub(super) trait Entrant {
    /// Its place in a queue.
    fn ticket(&self) -> Ticket;
    fn set_ticket(&mut self, ticket: Ticket);
    fn deadline(&self) -> i64;
    fn vruntime(&self) -> i64;
}

/// Queues of which the task with the earliest deadline is wanted among those whose virtual run time is not too large: those that are
/// known to fit are ordered by deadline, the others by virtual run time. The limit moves; what has come to the wrong side changes
/// it when it comes up, so the answer is exact. `tasks` are always the same.
#[derive(Clone, Debug, Default)]
pub(super) struct DeadlineLines {
    fitting: Vec<Heap>,
    waiting: Vec<Heap>,
    queued: Vec<usize>,
    given: u64,
}

impl DeadlineLines {
    pub(super) fn set_cpus(&mut self, cpus: usize) {
        self.fitting = vec![Heap::default(); cpus];
        self.waiting = vec![Heap::default(); cpus];
        self.queued = vec![0; cpus];
    }

    #[inline]
    pub(super) fn insert<T: Entrant>(&mut self, tasks: &mut [T], cpu: usize, task: usize) {
        let ticket = ticket(&mut self.given, task);
        tasks[task].set_ticket(ticket);
        self.waiting[cpu].push((tasks[task].vruntime(), ticket));
        self.queued[cpu] += 1;
    }

    #[inline]
    pub(super) fn remove<T: Entrant>(&mut self, tasks: &mut [T], cpu: usize, task: usize) {
        tasks[task].set_ticket(0);
        self.queued[cpu] -= 1;
        tidy(&mut self.fitting[cpu], self.queued[cpu], |ticket| is_valid(tasks, ticket));
        tidy(&mut self.waiting[cpu], self.queued[cpu], |ticket| is_valid(tasks, ticket));
    }

    /// The task with the earliest deadline among those whose virtual run time fits. What fits must also fit when it is less.
    #[inline]
    pub(super) fn first_fitting<T: Entrant>(
        &mut self,
        tasks: &[T],
        cpu: usize,
        fits: impl Fn(i64) -> bool,
    ) -> Option<usize> {
        let (fitting, waiting) = (&mut self.fitting[cpu], &mut self.waiting[cpu]);
        while let Some((vruntime, ticket)) = waiting.peek() {
            let valid = is_valid(tasks, ticket);
            if valid && !fits(vruntime) {
                break;
            }
            waiting.pop();
            if valid {
                fitting.push((tasks[task_of(ticket)].deadline(), ticket));
            }
        }
        while let Some((_, ticket)) = fitting.peek() {
            if is_valid(tasks, ticket) {
                let vruntime = tasks[task_of(ticket)].vruntime();
                if fits(vruntime) {
                    return Some(task_of(ticket));
                }
                waiting.push((vruntime, ticket));
            }
            fitting.pop();
        }
        None
    }

    /// Fetches the tasks that will come up next: the first one is `next`, of the others only what is needed to see whose turn it is.
    #[inline]
    pub(super) fn prepare<T: Entrant>(&self, tasks: &[T], cpu: usize, next: impl Fn(usize)) {
        if tasks.len() < WORTH_FETCHING {
            return;
        }
        let (fitting, waiting) = (&self.fitting[cpu], &self.waiting[cpu]);
        if let Some((_, ticket)) = fitting.peek() {
            next(task_of(ticket));
        }
        // What comes up when the first goes is one of its two children.
        for (_, ticket) in fitting.iter().take(3).chain(waiting.iter().take(3)) {
            prefetch(tasks, task_of(ticket));
        }
    }

    /// The task with the least virtual run time.
    pub(super) fn least<T: Entrant>(&self, tasks: &[T], cpu: usize) -> Option<usize> {
        let all = self.fitting[cpu].iter().chain(self.waiting[cpu].iter()).map(|(_, ticket)| ticket);
        all.filter(|ticket| is_valid(tasks, *ticket))
            .map(task_of)
            .min_by_key(|task| (tasks[*task].vruntime(), *task))
    }

    /// A task that fits among some of the queue's later ones.
    pub(super) fn late<T: Entrant>(
        &self,
        tasks: &[T],
        cpu: usize,
        most: usize,
        fits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        late(&self.waiting[cpu], |ticket| is_valid(tasks, ticket), most, &fits)
            .or_else(|| late(&self.fitting[cpu], |ticket| is_valid(tasks, ticket), most, &fits))
    }
}

#[inline]
fn is_valid<T: Entrant>(tasks: &[T], ticket: Ticket) -> bool {
    tasks[task_of(ticket)].ticket() == ticket
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Default)]
    struct Plain {
        ticket: Ticket,
        deadline: i64,
        vruntime: i64,
    }

    impl Entrant for Plain {
        fn ticket(&self) -> Ticket {
            self.ticket
        }

        fn set_ticket(&mut self, ticket: Ticket) {
            self.ticket = ticket;
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
            let mut tasks = [Plain::default(); 40];
            let mut list = Steps::new();
            for (step, limit) in steps.into_iter().zip(limits) {
                if toggle(&mut list, step) {
                    tasks[step.0] = Plain { deadline: step.1, vruntime: step.2, ticket: 0 };
                    lines.insert(&mut tasks, 1, step.0);
                } else {
                    lines.remove(&mut tasks, 1, step.0);
                }
                let fitting = list.iter().find(|row| row.2 <= limit).map(|row| row.1);
                let found = lines.first_fitting(&tasks, 1, |vruntime| vruntime <= limit);
                prop_assert_eq!(found.map(|task| list.iter().find(|row| row.0 == task).unwrap().1), fitting);
                let least = list.iter().map(|row| row.2).min();
                prop_assert_eq!(lines.least(&tasks, 1).map(|task| list.iter().find(|row| row.0 == task).unwrap().2), least);
                prop_assert_eq!(lines.late(&tasks, 1, 40, |task| task > 38).is_some(), list.iter().any(|row| row.0 > 38));
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
