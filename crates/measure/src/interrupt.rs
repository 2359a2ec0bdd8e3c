//! Interrupts a running program on its CPU, at set rates, and displaces set amounts of its caches, in short blocks.
//!
//! The thread that interrupts is of the real-time class, so it preempts the program whenever its timer fires. It reads the program's counters
//! itself, at both ends of a block, while the program cannot run.

use crate::clock::monotonic_ns;
use crate::perf::{Counter, Event};
use crate::sys::{self, Mask, thread_cpu_ns};
use crate::traversal::{Array, ELEMENT_BYTES, Pattern};
use rustix::time::{ClockId, Timespec};
use swtch_profile::vocabulary::Access;

/// Why a program cannot be interrupted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterruptError {
    /// The real-time class is refused.
    #[error(
        "cannot interrupt the command from the real-time class: {0}; run as root, or allow it with 'sudo setcap cap_sys_nice+ep' for swtch or 'ulimit -r 50'"
    )]
    RealTime(String),
    /// Its CPU time cannot be counted.
    #[error(
        "cannot count the command's CPU time: perf_event_open: {0}; run as root, or set kernel.perf_event_paranoid to 1"
    )]
    Counters(String),
    /// It cannot be confined to the CPU.
    #[error("cannot use CPU {cpu}: {reason}; --cpu takes one of those that 'taskset -p $$' lists")]
    Cpu {
        /// The CPU.
        cpu: u32,
        /// The system's reason.
        reason: String,
    },
    /// There is no memory to displace caches with.
    #[error("cannot map {bytes} bytes to displace caches with: {reason}; --sizes takes smaller ones")]
    Memory {
        /// How many.
        bytes: u64,
        /// The system's reason.
        reason: String,
    },
}

/// How a block is disturbed. A block begins with an interruption in any case, since its counters are read there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Treatment {
    /// Memory that is touched at each interruption, bytes; one of the sizes of the [`Interrupter`].
    pub displaced_bytes: u64,
    /// Time from one interruption to the next, ns.
    pub period_ns: u64,
}

/// Where a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this time, ns, in whole periods.
    Passed(u64),
    /// With the program.
    ProgramEnds,
}

/// When the thread that interrupts had the CPU, `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// Its timer had fired, ns.
    pub from_ns: u64,
    /// It had touched what it touches, and slept again, ns.
    pub until_ns: u64,
}

/// What happened in a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// When it began, `CLOCK_MONOTONIC`, ns.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Its interruptions, the one at the beginning among them.
    pub interruptions: Vec<Interruption>,
    /// CPU time of the program and its descendants, ns.
    pub cpu_ns: u64,
    /// CPU time of the interrupting thread, ns.
    pub helper_cpu_ns: u64,
    /// Context switches of the program.
    pub switches: u64,
    /// Its instructions in user mode, where the machine counts them.
    pub instructions: Option<u64>,
    /// Its system calls, where the kernel shows them.
    pub system_calls: Option<u64>,
}

impl Block {
    /// What the interrupting thread worked itself in its CPU time, ns: it touched memory. The rest is the interruptions' own cost.
    pub fn helper_work_ns(&self) -> u64 {
        self.interruptions.iter().map(|one| one.until_ns - one.from_ns).sum()
    }
}

/// The counters of the program.
#[derive(Debug)]
struct Counters {
    cpu: Counter,
    switches: Option<Counter>,
    instructions: Option<Counter>,
    system_calls: Option<Counter>,
}

impl Counters {
    fn open(pid: u32) -> Result<Self, i32> {
        let optional = |event| Counter::of_program(event, pid).ok();
        Ok(Self {
            cpu: Counter::of_program(Event::TASK_CLOCK, pid)?,
            switches: optional(Event::CONTEXT_SWITCHES),
            instructions: optional(Event::INSTRUCTIONS),
            system_calls: Event::system_calls().and_then(optional),
        })
    }

    fn read(&self) -> Block {
        let read = |counter: &Option<Counter>| counter.as_ref().map(Counter::read);
        Block {
            cpu_ns: self.cpu.read(),
            switches: read(&self.switches).unwrap_or(0),
            instructions: read(&self.instructions),
            system_calls: read(&self.system_calls),
            ..Block::default()
        }
    }
}

/// This thread as the one that interrupts. Until it is dropped, it is on the program's CPU and in the real-time class.
#[derive(Debug)]
pub struct Interrupter {
    counters: Option<Counters>,
    arrays: Vec<(u64, Array)>,
    before: Mask,
    /// The CPU.
    pub cpu: u32,
}

impl Interrupter {
    /// Takes this thread to `cpu`, by default the last one it may use, and maps memory of the given sizes.
    ///
    /// # Errors
    /// When the real-time class, the CPU, the counters or the memory are refused.
    pub fn new(cpu: Option<u32>, sizes_bytes: &[u64]) -> Result<Self, InterruptError> {
        let before = Mask::current().map_err(|error| refused_cpu(cpu.unwrap_or(0), error))?;
        let cpu = cpu.or_else(|| before.cpus().last()).unwrap_or(0);
        sys::become_fifo_alone().map_err(|error| {
            InterruptError::RealTime(format!("sched_setscheduler: {}", sys::error_text(error)))
        })?;
        sys::become_normal();
        let map = |bytes: &u64| {
            let bytes = bytes / ELEMENT_BYTES * ELEMENT_BYTES;
            let pattern =
                Pattern { array_bytes: bytes, stride_bytes: ELEMENT_BYTES, access: Access::ReadModifyWrite };
            let array = Array::map(pattern)
                .map_err(|error| InterruptError::Memory { bytes, reason: sys::error_text(error) })?;
            Ok((bytes, array))
        };
        let arrays = sizes_bytes.iter().filter(|bytes| **bytes > 0).map(map).collect::<Result<_, _>>()?;
        Counter::of_this_thread(Event::TASK_CLOCK).map_err(refused_counters)?;
        Mask::one(cpu).apply().map_err(|error| refused_cpu(cpu, error))?;
        sys::become_fifo_alone().map_err(|error| {
            InterruptError::RealTime(format!("sched_setscheduler: {}", sys::error_text(error)))
        })?;
        Ok(Self { counters: None, arrays, before, cpu })
    }

    /// Counts this program from now on. One that this thread has just started is on this CPU and has not yet run beyond its start.
    ///
    /// # Errors
    /// When the counters are refused.
    pub fn attach(&mut self, pid: u32) -> Result<(), InterruptError> {
        self.counters = Some(Counters::open(pid).map_err(refused_counters)?);
        Ok(())
    }

    /// The time that touching this much memory takes, ns: the least of some.
    pub fn touch_ns(&self, bytes: u64) -> u64 {
        let time = |_| {
            let begin_ns = monotonic_ns();
            self.touch(bytes);
            monotonic_ns() - begin_ns
        };
        (0..4).map(time).min().unwrap_or(0)
    }

    fn touch(&self, bytes: u64) {
        if let Some((_, array)) = self.arrays.iter().find(|(size, _)| *size == bytes) {
            array.traverse();
        }
    }

    /// One block. `ended` says whether the program has ended; a block in which it ends too early is none.
    pub fn block(
        &self,
        treatment: Treatment,
        until: Until,
        ended: &mut dyn FnMut() -> bool,
    ) -> Option<Block> {
        let counters = self.counters.as_ref()?;
        let expected = match until {
            Until::Passed(ns) => ns / treatment.period_ns.max(1) + 2,
            Until::ProgramEnds => 1024,
        };
        let mut interruptions = Vec::with_capacity(expected as usize);
        let before = counters.read();
        let helper_ns = thread_cpu_ns();
        let begin_ns = monotonic_ns();
        let (mut woken_ns, mut due_ns) = (begin_ns, begin_ns);
        loop {
            self.touch(treatment.displaced_bytes);
            due_ns += treatment.period_ns;
            let now_ns = monotonic_ns();
            interruptions.push(Interruption { from_ns: woken_ns, until_ns: now_ns });
            if now_ns + treatment.period_ns / 4 > due_ns {
                // The CPU was away, as a hypervisor takes it: the program gets its time all the same.
                due_ns = now_ns + treatment.period_ns;
            }
            sleep_until(due_ns);
            woken_ns = monotonic_ns();
            let over = match until {
                Until::Passed(ns) => woken_ns - begin_ns >= ns,
                Until::ProgramEnds => ended(),
            };
            if over {
                break;
            }
        }
        let helper_cpu_ns = thread_cpu_ns() - helper_ns;
        let after = counters.read();
        let since = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        let block = Block {
            begin_ns,
            end_ns: woken_ns,
            interruptions,
            cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
            helper_cpu_ns,
            switches: after.switches.saturating_sub(before.switches),
            instructions: since(after.instructions, before.instructions),
            system_calls: since(after.system_calls, before.system_calls),
        };
        (until == Until::ProgramEnds || !ended()).then_some(block)
    }
}

impl Drop for Interrupter {
    fn drop(&mut self) {
        sys::become_normal();
        let _ = self.before.apply();
    }
}

fn refused_counters(error: i32) -> InterruptError {
    InterruptError::Counters(sys::error_text(error))
}

fn refused_cpu(cpu: u32, error: i32) -> InterruptError {
    InterruptError::Cpu { cpu, reason: sys::error_text(error) }
}

fn sleep_until(monotonic_ns: u64) {
    let due = Timespec {
        tv_sec: (monotonic_ns / 1_000_000_000) as i64,
        tv_nsec: (monotonic_ns % 1_000_000_000) as i64,
    };
    // A signal ends the sleep early; the next question whether to stop answers it.
    let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &due);
}
