//! The measuring process: sets itself up, starts the other tasks, runs the batches. Everything here runs after a fork, so it
//! allocates only before the other tasks start and never unwinds into the parent's code.

use super::region::{EXIT_SETUP, FollowerSlot, LeaderSlot, Region, Size, Stage};
use crate::clock::{Clock, monotonic_ns};
use crate::condition::{Condition, Reference, Work};
use crate::kernels::messages::Messages;
use crate::kernels::yielding::{Yielding, yield_cpu};
use crate::kernels::{RunLoop, SwitchLoop, reference, with_method};
use crate::small;
use crate::spin::spin;
use crate::sys::{self, Forked, Mask, SwitchCounts};
use crate::traversal::{Array, Pattern};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use swtch_profile::vocabulary::{Class, Tasks};

/// The life of the worker process.
pub(super) fn run(condition: &Condition, size: Size, clock: Clock, region: &Region, parent: i32) -> ! {
    // SAFETY: sets a signal's action. A handler of the parent's (an interpreter's) must not run here.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    sys::own_process_group();
    sys::die_with_parent(parent);
    sys::end_after(size.guard_s);
    let setup = Setup { condition, size, clock, region };
    let outcome = catch_unwind(AssertUnwindSafe(|| setup.measure()));
    match outcome {
        Ok(Ok(())) => {
            region.enter(Stage::Done);
            sys::exit_now(0)
        }
        Ok(Err((stage, error))) => {
            region.fail(stage, error);
            sys::exit_now(EXIT_SETUP)
        }
        Err(_) => sys::exit_now(sys::EXIT_BROKEN),
    }
}

type SetUpResult<T> = Result<T, (Stage, i32)>;

/// What every task of the launch knows.
#[derive(Clone, Copy)]
struct Setup<'a> {
    condition: &'a Condition,
    size: Size,
    clock: Clock,
    region: &'a Region,
}

impl Setup<'_> {
    fn measure(&self) -> SetUpResult<()> {
        match self.condition.work {
            Work::Reference(which) => {
                self.become_task(0)?;
                self.measure_reference(which);
                Ok(())
            }
            Work::Messages { carrier, channels, depth } => {
                let messages = Messages::new(carrier, channels, depth);
                let messages = messages.map_err(|error| (Stage::MakingPipes, error))?;
                if self.condition.cpus.len() > 1 {
                    self.switch(Tasks::Thread, 2, Pattern::NONE, &messages);
                } else {
                    self.become_task(0)?;
                    self.measure_messages(&messages)?;
                }
                Ok(())
            }
            Work::Switch { method, tasks, count, pattern } => {
                let run = MethodRun { setup: self, tasks, count: count as usize, pattern };
                with_method(method, tasks, count as usize, run).map_err(|error| (Stage::MakingPipes, error))
            }
        }
    }

    /// Pins this task and puts it into its class.
    fn become_task(&self, index: usize) -> SetUpResult<()> {
        let cpus = &self.condition.cpus;
        if !cpus.is_empty() {
            Mask::one(cpus[index % cpus.len()]).apply().map_err(|error| (Stage::Pinning, error))?;
        }
        if self.condition.class == Class::Fifo {
            sys::bound_realtime(u64::from(self.size.guard_s));
            sys::become_fifo().map_err(|error| (Stage::RealTime, error))?;
        }
        Ok(())
    }

    /// Runs tasks that switch: this one leads.
    fn switch<K: SwitchLoop>(&self, tasks: Tasks, count: usize, pattern: Pattern, kernel: &K) {
        let follow = |index| self.follow(index, pattern, kernel);
        with_followers(*self, tasks, count, &follow, || self.lead(pattern, kernel));
    }

    /// The life of the leader.
    fn lead<K: SwitchLoop>(&self, pattern: Pattern, kernel: &K) {
        self.or_end(self.become_task(0));
        let array = self.or_end(Array::map(pattern).map_err(|error| (Stage::MappingArray, error)));
        self.region.enter(Stage::Running);
        for batch in 0..self.size.batches as usize {
            let mut record = Record::begin(self.clock);
            for _ in 0..self.size.warm_up_rounds {
                kernel.lead(&array);
            }
            let switching = self.timed(|| kernel.lead(&array));
            if !kernel.verified(&|task| self.region.pid(task)) {
                self.or_end::<()>(Err((Stage::TokenLost, libc::EPROTO)));
            }
            for _ in 0..self.size.warm_up_rounds {
                kernel.baseline(&array);
            }
            let baseline = self.timed(|| kernel.baseline(&array));
            record.add(&switching, Some(&baseline));
            self.region.record_leader(batch, record.end());
        }
    }

    /// Times one batch of rounds, with what the kernel counted meanwhile.
    #[inline(always)]
    fn timed(&self, mut round: impl FnMut()) -> Arm {
        let (ran, switches) = (sys::thread_cpu_ns(), SwitchCounts::of_this_thread());
        let start = self.clock.start();
        for _ in 0..self.size.rounds {
            round();
        }
        let ticks = self.clock.stop() - start;
        let switches = SwitchCounts::of_this_thread().since(switches);
        Arm { ticks, cpu_ns: sys::thread_cpu_ns() - ran, switches }
    }

    /// Ends the process on a failure: once other tasks run, returning would free what they still use.
    fn or_end<T>(&self, result: SetUpResult<T>) -> T {
        result.unwrap_or_else(|(stage, error)| {
            self.region.fail(stage, error);
            sys::exit_now(EXIT_SETUP)
        })
    }

    /// The life of follower `index` (from 1).
    fn follow<K: SwitchLoop>(&self, index: usize, pattern: Pattern, kernel: &K) -> SetUpResult<()> {
        self.become_task(index)?;
        let array = Array::map(pattern).map_err(|error| (Stage::MappingArray, error))?;
        for batch in 0..self.size.batches as usize {
            for _ in 0..self.size.warm_up_rounds {
                kernel.follow(index, &array);
            }
            let (ran, switches) = (sys::thread_cpu_ns(), SwitchCounts::of_this_thread());
            for _ in 0..self.size.rounds {
                kernel.follow(index, &array);
            }
            self.record_follower(index, batch, switches, ran);
        }
        Ok(())
    }

    fn record_follower(&self, index: usize, batch: usize, before: SwitchCounts, ran_ns: u64) {
        let switches = SwitchCounts::of_this_thread().since(before);
        let slot = FollowerSlot {
            voluntary: switches.voluntary,
            involuntary: switches.involuntary,
            cpu_ns: sys::thread_cpu_ns() - ran_ns,
        };
        self.region.record_follower(index - 1, batch, slot);
    }

    fn measure_yield(&self, tasks: Tasks, pair: &Yielding) {
        let follow = |index| {
            self.become_task(index)?;
            for batch in 0..self.size.batches as usize {
                let (ran, switches) = (sys::thread_cpu_ns(), SwitchCounts::of_this_thread());
                pair.follow(batch as u64);
                self.record_follower(index, batch, switches, ran);
            }
            Ok(())
        };
        with_followers(*self, tasks, 2, &follow, || self.lead_yield(pair));
    }

    fn lead_yield(&self, pair: &Yielding) {
        self.or_end(self.become_task(0));
        self.region.enter(Stage::Running);
        for batch in 0..self.size.batches as usize {
            let mut record = Record::begin(self.clock);
            pair.start();
            let yields = pair.follower_yields();
            let switching = self.timed(yield_cpu);
            record.slot.follower_yields = pair.follower_yields() - yields;
            pair.end();
            let baseline = self.timed(yield_cpu);
            record.add(&switching, Some(&baseline));
            self.region.record_leader(batch, record.end());
        }
    }

    /// Messages that one task writes and reads. The last round before each batch tells what of it is the writing.
    fn measure_messages(&self, messages: &Messages) -> SetUpResult<()> {
        let array = Array::map(Pattern::NONE).map_err(|error| (Stage::MappingArray, error))?;
        self.region.enter(Stage::Running);
        for batch in 0..self.size.batches as usize {
            let mut record = Record::begin(self.clock);
            for _ in 1..self.size.warm_up_rounds {
                messages.baseline(&array);
            }
            [record.slot.write_ticks, record.slot.read_ticks] = messages.timed_round(self.clock);
            record.add(&self.timed(|| messages.baseline(&array)), None);
            self.region.record_leader(batch, record.end());
        }
        Ok(())
    }

    fn measure_reference(&self, which: Reference) {
        if which == Reference::Fork {
            small::keep_memory_from_children();
        }
        self.region.enter(Stage::Running);
        for batch in 0..self.size.batches as usize {
            let mut record = Record::begin(self.clock);
            let operations = match which {
                Reference::Syscall => self.timed(reference::syscall),
                Reference::Fork => self.timed(reference::fork_exit_wait),
                Reference::ThreadCreate => self.timed(reference::create_join),
            };
            record.add(&operations, None);
            self.region.record_leader(batch, record.end());
        }
    }
}

/// The tasks of a method that switch, and what each of them works on.
struct MethodRun<'a> {
    setup: &'a Setup<'a>,
    tasks: Tasks,
    count: usize,
    pattern: Pattern,
}

impl RunLoop for MethodRun<'_> {
    fn switch<K: SwitchLoop>(self, tasks: &K) {
        self.setup.switch(self.tasks, self.count, self.pattern, tasks);
    }

    fn yields(self, tasks: &Yielding) {
        self.setup.measure_yield(self.tasks, tasks);
    }
}

/// One timed batch of one arm.
struct Arm {
    ticks: u64,
    cpu_ns: u64,
    switches: SwitchCounts,
}

/// A batch's record in the making.
struct Record {
    slot: LeaderSlot,
}

impl Record {
    fn begin(clock: Clock) -> Self {
        let spin_ticks = spin(clock);
        let (started_ns, cpu_before) = (monotonic_ns(), sys::current_cpu());
        Self { slot: LeaderSlot { started_ns, spin_ticks, cpu_before, ..LeaderSlot::default() } }
    }

    fn add(&mut self, switching: &Arm, baseline: Option<&Arm>) {
        self.slot.switch_ticks = switching.ticks;
        self.slot.switch_cpu_ns = switching.cpu_ns;
        self.slot.voluntary = switching.switches.voluntary;
        self.slot.involuntary = switching.switches.involuntary;
        if let Some(baseline) = baseline {
            self.slot.baseline_ticks = baseline.ticks;
            self.slot.baseline_cpu_ns = baseline.cpu_ns;
            self.slot.baseline_switches = baseline.switches.voluntary + baseline.switches.involuntary;
        }
    }

    fn end(mut self) -> LeaderSlot {
        self.slot.cpu_after = sys::current_cpu();
        self.slot
    }
}

/// What a follower does, given its index.
type Body<'a> = dyn Fn(usize) -> SetUpResult<()> + 'a;

/// Starts tasks 1 to `count - 1`, each of which runs `body` with its index, then runs `lead`, then waits for them. A follower that fails
/// ends the whole worker, because its leader would wait for ever.
fn with_followers(setup: Setup<'_>, tasks: Tasks, count: usize, body: &Body<'_>, lead: impl FnOnce()) {
    setup.region.enter(Stage::StartingTasks);
    match tasks {
        Tasks::Process => {
            let pids: Vec<i32> =
                (1..count).map(|index| setup.or_end(start_process(setup, index, body))).collect();
            lead();
            for pid in pids {
                sys::kill_group_and_wait(pid, false);
            }
        }
        Tasks::Thread => {
            let starts: Vec<ThreadStart<'_>> =
                (1..count).map(|index| ThreadStart { setup, index, body }).collect();
            let threads: Vec<libc::pthread_t> =
                starts.iter().map(|start| setup.or_end(start_thread(start))).collect();
            lead();
            for thread in threads {
                // SAFETY: started above and joined once; `starts` and what it borrows are still alive.
                unsafe { libc::pthread_join(thread, ptr::null_mut()) };
            }
        }
    }
}

fn start_process(setup: Setup<'_>, index: usize, body: &Body<'_>) -> SetUpResult<i32> {
    let worker = rustix::process::getpid().as_raw_nonzero().get();
    match sys::fork().map_err(|error| (Stage::StartingTasks, error))? {
        Forked::Parent(pid) => {
            setup.region.set_pid(index, pid as u64);
            Ok(pid)
        }
        Forked::Child => {
            sys::die_with_parent(worker);
            if let Err((stage, error)) = body(index) {
                setup.region.fail(stage, error);
                // SAFETY: the worker is this process's parent and alive, or this process would have been killed.
                unsafe { libc::kill(worker, libc::SIGKILL) };
                sys::exit_now(EXIT_SETUP);
            }
            sys::exit_now(0)
        }
    }
}

/// What a thread needs.
struct ThreadStart<'a> {
    setup: Setup<'a>,
    index: usize,
    body: &'a Body<'a>,
}

extern "C" fn thread_main(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `with_followers` passes a pointer to a value that lives until this thread is joined.
    let start = unsafe { &*argument.cast::<ThreadStart<'_>>() };
    if let Err((stage, error)) = (start.body)(start.index) {
        start.setup.region.fail(stage, error);
        sys::exit_now(EXIT_SETUP);
    }
    ptr::null_mut()
}

fn start_thread(start: &ThreadStart<'_>) -> SetUpResult<libc::pthread_t> {
    let argument = ptr::from_ref(start).cast_mut().cast();
    // SAFETY: default attributes; the thread reads `start` only, which outlives it.
    unsafe {
        let mut thread: libc::pthread_t = std::mem::zeroed();
        match libc::pthread_create(&raw mut thread, ptr::null(), thread_main, argument) {
            0 => Ok(thread),
            error => Err((Stage::StartingTasks, error)),
        }
    }
}
