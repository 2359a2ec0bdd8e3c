//! The real-time classes: FIFO and round robin (Linux 6.18, kernel/sched/rt.c).

use super::fair_server::FairServer;
use super::placement;
use crate::hook::Family;
use crate::kernel::Kernel;
use crate::policy::{Arrival, Balancing, Departure, Policy};

/// `RR_TIMESLICE`: 100 ms.
const RR_SLICE_NS: u64 = 100_000_000;
const PRIORITIES: usize = 100;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    prev: u32,
    /// Ticks left of its slice.
    ticks_left: u32,
    /// One of the kernel's own threads, which are in no list. It stands here, as a task's specification is far away in memory.
    kernel_thread: bool,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

/// The queue of a CPU: a list for each priority.
#[derive(Clone, Debug)]
struct RtRq {
    lists: Vec<List>,
    /// Lists that are not empty.
    bits: u128,
    /// The running task goes to the tail: its slice is over, or it lets others run.
    requeue: bool,
    /// The kernel's own threads.
    fair: FairServer,
}

/// FIFO or round robin.
#[derive(Clone, Debug)]
pub struct RealTime {
    slice_ns: Option<u64>,
    slice_ticks: u32,
    rt_rqs: Vec<RtRq>,
    links: Vec<Link>,
    /// When the first fair server may be due, ns: it is asked for at every event, and there may be hundreds of CPUs.
    due_ns: Option<u64>,
}

impl RealTime {
    /// First come, first served: a task runs until it waits, or until one of higher priority comes.
    pub fn fifo() -> Self {
        Self { slice_ns: None, slice_ticks: 0, rt_rqs: Vec::new(), links: Vec::new(), due_ns: None }
    }

    /// Round robin with the kernel's slice of 100 ms.
    pub fn round_robin() -> Self {
        Self::with_slice_ns(RR_SLICE_NS)
    }

    /// Round robin with a slice of one's own, which ends at a tick.
    pub fn with_slice_ns(slice_ns: u64) -> Self {
        Self { slice_ns: Some(slice_ns), ..Self::fifo() }
    }

    #[inline]
    fn append(&mut self, kernel: &Kernel, cpu: usize, task: usize, at_tail: bool) {
        let priority = usize::from(kernel.priority(task)).min(PRIORITIES - 1);
        let queue = &mut self.rt_rqs[cpu];
        let list = &mut queue.lists[priority];
        let number = task as u32;
        if list.head == NONE {
            *list = List { head: number, tail: number };
            self.links[task] = Link { next: NONE, prev: NONE, ..self.links[task] };
            queue.bits |= 1 << priority;
        } else if at_tail {
            self.links[task] = Link { next: NONE, prev: list.tail, ..self.links[task] };
            self.links[list.tail as usize].next = number;
            list.tail = number;
        } else {
            self.links[task] = Link { next: list.head, prev: NONE, ..self.links[task] };
            self.links[list.head as usize].prev = number;
            list.head = number;
        }
    }

    #[inline]
    fn remove(&mut self, kernel: &Kernel, cpu: usize, task: usize) {
        let priority = usize::from(kernel.priority(task)).min(PRIORITIES - 1);
        let Link { next, prev, .. } = self.links[task];
        let queue = &mut self.rt_rqs[cpu];
        let list = &mut queue.lists[priority];
        match prev {
            NONE => list.head = next,
            prev => self.links[prev as usize].next = next,
        }
        match next {
            NONE => list.tail = prev,
            next => self.links[next as usize].prev = prev,
        }
        if list.head == NONE {
            queue.bits &= !(1 << priority);
        }
    }

    /// Ticks that the running task has seen, and how many it may see.
    #[inline]
    fn ticks_seen(&self, kernel: &Kernel, cpu: usize, task: usize) -> (u64, u64) {
        let started = kernel.ticks_until(kernel.run_start_ns(cpu));
        (kernel.ticks_until(kernel.now_ns).saturating_sub(started), u64::from(self.links[task].ticks_left))
    }

    /// One of the kernel's own threads waits, at the front of the queue if it ran just now.
    fn wait(&mut self, kernel: &Kernel, cpu: usize, task: usize, is_first: bool) {
        let server = &mut self.rt_rqs[cpu].fair;
        server.wait(task, kernel.now_ns, is_first);
        self.due_ns = self.due_ns.into_iter().chain(server.due_ns()).min();
    }

    /// Whether another task of at least its priority waits.
    #[inline]
    fn is_contended(&self, kernel: &Kernel, cpu: usize, task: usize) -> bool {
        self.rt_rqs[cpu].bits >> usize::from(kernel.priority(task)).min(PRIORITIES - 1) != 0
    }
}

impl Policy for RealTime {
    fn name(&self) -> &str {
        if self.slice_ns.is_some() { "rr" } else { "fifo" }
    }

    fn family(&self) -> Family {
        Family::RealTime
    }

    fn start(&mut self, kernel: &mut Kernel) {
        let slice_ns = self.slice_ns.unwrap_or(0);
        self.slice_ticks =
            slice_ns.div_ceil(kernel.costs.tick_period_ns).clamp(1, u64::from(u32::MAX)) as u32;
        let queue = RtRq {
            lists: vec![List { head: NONE, tail: NONE }; PRIORITIES],
            bits: 0,
            requeue: false,
            fair: FairServer::default(),
        };
        self.rt_rqs = vec![queue; kernel.cpu_count()];
        self.links.iter_mut().for_each(|link| link.ticks_left = self.slice_ticks);
    }

    fn task_new(&mut self, kernel: &mut Kernel, task: usize) {
        let kernel_thread = kernel.is_kernel_thread(task);
        self.links.push(Link { next: NONE, prev: NONE, ticks_left: self.slice_ticks, kernel_thread });
    }

    fn select_cpu(&mut self, kernel: &mut Kernel, task: usize, why: Arrival, waker_cpu: usize) -> usize {
        let here = if why == Arrival::Fork { waker_cpu } else { kernel.cpu_of(task) };
        let here = placement::permitted(kernel, task, here);
        // select_task_rq_rt: it stays unless a task of its priority or a higher one runs there.
        let taken = kernel.current(here).is_some_and(|current| {
            let is_below = self.links[current].kernel_thread && !self.links[task].kernel_thread;
            !is_below && kernel.priority(current) >= kernel.priority(task)
        });
        if !taken && kernel.idle().contains(here) {
            return here;
        }
        if !taken && kernel.current(here).is_some() {
            return here;
        }
        placement::idle_cpu(kernel, task, here).unwrap_or(here)
    }

    #[inline]
    fn enqueue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, _why: Arrival) {
        if self.links[task].kernel_thread {
            return self.wait(kernel, cpu, task, false);
        }
        self.append(kernel, cpu, task, true);
    }

    #[inline]
    fn dequeue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, _why: Departure) {
        if kernel.current(cpu) == Some(task) {
            return;
        }
        if self.links[task].kernel_thread {
            return self.rt_rqs[cpu].fair.leave(task);
        }
        self.remove(kernel, cpu, task);
    }

    #[inline]
    fn pick_next(&mut self, kernel: &mut Kernel, cpu: usize) -> Option<usize> {
        let queue = &mut self.rt_rqs[cpu];
        let thread = queue.fair.take(kernel.now_ns, queue.bits == 0);
        if thread.is_some() || queue.bits == 0 {
            return thread;
        }
        let task = queue.lists[127 - queue.bits.leading_zeros() as usize].head as usize;
        self.remove(kernel, cpu, task);
        Some(task)
    }

    #[inline]
    fn put_prev(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, runnable: bool) {
        if self.links[task].kernel_thread {
            let queue = &mut self.rt_rqs[cpu];
            if queue.bits != 0 {
                queue.fair.charge(kernel.now_ns.saturating_sub(kernel.run_start_ns(cpu)));
            }
            if runnable {
                self.wait(kernel, cpu, task, true);
            }
            return;
        }
        if self.slice_ns.is_some() {
            let (seen, left) = self.ticks_seen(kernel, cpu, task);
            let slice = u64::from(self.slice_ticks);
            // A slice that ended while no other task waited began again.
            let rest = if seen < left { left - seen } else { slice - (seen - left) % slice };
            self.links[task].ticks_left = rest as u32;
        }
        let requeue = std::mem::take(&mut self.rt_rqs[cpu].requeue);
        if runnable {
            self.append(kernel, cpu, task, requeue);
        }
    }

    #[inline]
    fn tick(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) -> bool {
        if self.links[task].kernel_thread {
            let queue = &self.rt_rqs[cpu];
            return queue.bits != 0 && queue.fair.ends_ns(kernel.run_start_ns(cpu)) <= kernel.now_ns;
        }
        if self.slice_ns.is_none() || !self.is_contended(kernel, cpu, task) {
            return false;
        }
        let (seen, left) = self.ticks_seen(kernel, cpu, task);
        let over = seen >= left && (seen - left).is_multiple_of(u64::from(self.slice_ticks));
        self.rt_rqs[cpu].requeue |= over;
        over
    }

    #[inline]
    fn decision_at(&self, kernel: &Kernel, cpu: usize, task: usize) -> Option<u64> {
        if self.links[task].kernel_thread {
            let queue = &self.rt_rqs[cpu];
            return (queue.bits != 0).then(|| queue.fair.ends_ns(kernel.run_start_ns(cpu)));
        }
        if self.slice_ns.is_none() || !self.is_contended(kernel, cpu, task) {
            return None;
        }
        let (seen, left) = self.ticks_seen(kernel, cpu, task);
        let slice = u64::from(self.slice_ticks);
        let over = if seen <= left { left } else { left + (seen - left).div_ceil(slice) * slice };
        Some(kernel.tick_ns(kernel.ticks_until(kernel.run_start_ns(cpu)) + over))
    }

    fn wakeup_preempt(&mut self, kernel: &mut Kernel, cpu: usize, current: usize, woken: usize) -> bool {
        let is_served = self.rt_rqs[cpu].fair.has_time(kernel.now_ns);
        match (self.links[current].kernel_thread, self.links[woken].kernel_thread) {
            (false, false) => kernel.priority(woken) > kernel.priority(current),
            (false, true) => is_served,
            (true, is_thread) => !is_thread && !is_served,
        }
    }

    fn timer_at(&self) -> Option<u64> {
        self.due_ns
    }

    fn timer(&mut self, kernel: &mut Kernel) {
        for (cpu, queue) in self.rt_rqs.iter_mut().enumerate() {
            if queue.fair.begins(kernel.now_ns) {
                kernel.kick(cpu);
            }
        }
        self.due_ns = self.rt_rqs.iter().filter_map(|queue| queue.fair.due_ns()).min();
    }

    fn regroup(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) {
        // Behind the others of its priority.
        self.yield_task(kernel, cpu, task);
    }

    fn yield_task(&mut self, _kernel: &mut Kernel, cpu: usize, _task: usize) {
        self.rt_rqs[cpu].requeue = true;
    }

    fn balancing(&self) -> Balancing {
        Balancing { when_idle: true, least_idle_ns: 0, periodic: false }
    }

    fn movable(&self, kernel: &Kernel, from: usize, to: usize) -> Option<usize> {
        let mut bits = self.rt_rqs[from].bits;
        while bits != 0 {
            let priority = 127 - bits.leading_zeros() as usize;
            let mut task = self.rt_rqs[from].lists[priority].head;
            while task != NONE {
                if kernel.may_use(task as usize, to) {
                    return Some(task as usize);
                }
                task = self.links[task as usize].next;
            }
            bits &= !(1 << priority);
        }
        None
    }
}
