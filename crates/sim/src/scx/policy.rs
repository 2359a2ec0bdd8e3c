//! A compiled scheduler as a policy.

use super::FLSCHED;
use super::abi::{KICK_IDLE, KICK_PREEMPT, SLICE_INF, WAKE_FORK, WAKE_SYNC, WAKE_TTWU};
use super::core::{CLOCK_BASE_NS, Core, NONE};
use super::error::ScxError;
use super::instructions::KICKS;
use super::object::{Loaded, Object};
use super::settings::{Program, Settings};
use crate::hook::Family;
use crate::kernel::Kernel;
use crate::policy::{Arrival, Departure, Policy};
use crate::prefetch::prefetch_line;

/// The longest that the kernel's watchdog lets a runnable task wait (`SCX_WATCHDOG_MAX_TIMEOUT`), ns.
const WATCHDOG_NS: u64 = 30_000_000_000;
/// Cache lines of a task up to its times (`utime`).
const SHOWN_LINES: usize = 4;

/// A sched_ext scheduler, compiled natively.
pub struct ScxPolicy {
    name: String,
    // Dropped before the code that its tasks and maps belong to.
    core: Option<Box<Core>>,
    loaded: Loaded,
    settings: Settings,
    started: bool,
    /// Its callbacks are counted. That takes an object whose basic blocks count themselves, which flsched's own, built in, is not, and costs
    /// by which an instruction takes time.
    counts: bool,
}

// SAFETY: what the core points to is its own or the loaded object's, which is this policy's own. Both may be used by any one thread.
unsafe impl Send for ScxPolicy {}

impl ScxPolicy {
    /// Loads a copy of a compiled scheduler.
    ///
    /// # Errors
    /// When it cannot be loaded, or has no such variables or programs as are to be set and run.
    pub fn new(object: &Object, settings: Settings) -> Result<Self, ScxError> {
        let loaded = Loaded::new(object)?;
        let ops = loaded.ops()?;
        let name = ops.name.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        loaded.set_globals(&settings, None)?;
        for program in settings.before.iter().chain(&settings.after) {
            loaded.has_program(&program.name)?;
        }
        Ok(Self { name, core: None, loaded, settings, started: false, counts: false })
    }

    /// Works on the core at the kernel's time, on behalf of a CPU; `own` is one that hears of a kick without being interrupted.
    #[inline]
    fn with<R>(
        &mut self,
        kernel: &mut Kernel,
        cpu: usize,
        own: Option<usize>,
        work: impl FnOnce(&mut Core) -> R,
    ) -> R {
        if self.core.is_none() {
            self.make_core(kernel);
        }
        let core = self.core.as_mut().expect("just made");
        core.now_ns = CLOCK_BASE_NS + kernel.now_ns;
        core.this_cpu = core.ids[cpu];
        let result = work(core);
        if !core.kicks.is_empty() || !core.rearm.is_empty() {
            send_kicks(core, kernel, own);
        }
        if core.error.is_some() && !core.exited {
            core.exit();
        }
        let instructions = std::mem::take(&mut core.instructions);
        if self.counts {
            kernel.callback_instructions += instructions;
        }
        result
    }

    #[cold]
    fn make_core(&mut self, kernel: &mut Kernel) {
        let mut ops = match self.loaded.ops() {
            Ok(ops) => ops,
            // It was there when the policy was made.
            Err(error) => panic!("{error}"),
        };
        if let Some(flags) = self.settings.flags {
            ops.flags = flags;
        }
        let mut core = Box::new(Core::new(ops, kernel));
        let hz = 1_000_000_000 / kernel.costs.tick_period_ns.max(1);
        let attached = self.loaded.attach(&mut core, hz);
        if let Err(error) = attached.and_then(|()| self.loaded.set_globals(&self.settings, Some(&core.ids))) {
            core.fail(error.to_string());
        }
        self.counts = core.guard.is_some() && kernel.costs.instruction_ps > 0;
        self.run_programs(&mut core, &self.settings.before.clone());
        core.init();
        self.core = Some(core);
    }

    fn run_programs(&self, core: &mut Core, programs: &[Program]) {
        let of_cpu = |program: &Program, cpu: &u32| Program {
            argument: i32::try_from(*cpu).unwrap_or(0).to_ne_bytes().to_vec(),
            cpu: *cpu,
            ..program.clone()
        };
        let all: Vec<Program> = programs
            .iter()
            .flat_map(|program| {
                if program.each_cpu {
                    core.ids.iter().map(|cpu| of_cpu(program, cpu)).collect()
                } else {
                    vec![program.clone()]
                }
            })
            .collect();
        for program in &all {
            if !core.is_cpu(program.cpu) {
                core.fail(format!("there is no CPU {} to run '{}' on", program.cpu, program.name));
                return;
            }
            core.this_cpu = program.cpu;
            match self.loaded.run(core, &program.name, &mut program.argument.clone()) {
                Ok(0) => {}
                Ok(status) => core.fail(format!("program '{}' returned {status}", program.name)),
                Err(error) => core.fail(error.to_string()),
            }
        }
    }
}

/// Interrupts CPUs as the scheduler and the core want (`kick_cpus_irq_workfn`).
fn send_kicks(core: &mut Core, kernel: &mut Kernel, own: Option<usize>) {
    for place in 0..core.kicks.len() {
        let (cpu, flags) = core.kicks[place];
        let curr = core.cpus[cpu as usize].curr;
        if flags & KICK_IDLE != 0 && curr != NONE {
            continue;
        }
        if flags & KICK_PREEMPT != 0 && curr != NONE {
            core.shown_mut(curr).scx.slice = 0;
        }
        let at = core.places[cpu as usize] as usize;
        if own == Some(at) {
            core.cpus[cpu as usize].resched = true;
        } else {
            kernel.kick(at);
        }
    }
    core.kicks.clear();
    // The core's own are in what a wake-up takes.
    if std::mem::take(&mut core.has_kicked) {
        core.instructions += KICKS;
    }
    while let Some(cpu) = core.rearm.pop() {
        kernel.decide_again(core.places[cpu as usize] as usize);
    }
}

impl Policy for ScxPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        match (self.counts, self.name.as_str()) {
            (true, _) => Family::SchedExt,
            (false, FLSCHED) => Family::Lockless,
            (false, _) => Family::RealTime,
        }
    }

    fn start(&mut self, kernel: &mut Kernel) {
        self.started = true;
        self.with(kernel, 0, None, |_| ());
        let programs = std::mem::take(&mut self.settings.after);
        if let Some(mut core) = self.core.take() {
            self.run_programs(&mut core, &programs);
            self.core = Some(core);
        }
    }

    fn task_new(&mut self, kernel: &mut Kernel, task: usize) {
        let fork = self.started;
        self.with(kernel, 0, None, |_| ());
        if let Some(core) = &mut self.core {
            core.add_task(kernel, task);
        }
        self.with(kernel, 0, None, |core| core.introduce(task as u32, fork));
        if !fork {
            // It was there before the scheduler.
            kernel.callback_instructions = 0;
        }
    }

    fn select_cpu(&mut self, kernel: &mut Kernel, task: usize, why: Arrival, waker_cpu: usize) -> usize {
        let flags = match why {
            Arrival::Fork => WAKE_FORK,
            _ if kernel.wake_is_sync => WAKE_TTWU | WAKE_SYNC,
            _ => WAKE_TTWU,
        };
        let prev = kernel.cpu_of(task);
        self.with(kernel, waker_cpu, None, |core| {
            let prev = core.ids[prev];
            let cpu = core.select_cpu(task as u32, prev, flags);
            core.places[cpu as usize] as usize
        })
    }

    fn enqueue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, why: Arrival) {
        // The waker does it, as when it chose the CPU.
        let waker = self.core.as_ref().map_or(cpu, |core| core.places[core.this_cpu as usize] as usize);
        self.with(kernel, waker, Some(cpu), |core| {
            let id = core.ids[cpu];
            let flags = if why == Arrival::Fork { WAKE_FORK } else { WAKE_TTWU };
            core.wake_up(task as u32, id, flags);
        });
    }

    fn dequeue(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, why: Departure) {
        self.with(kernel, cpu, None, |core| core.sleep(task as u32, why == Departure::Exit));
    }

    fn pick_next(&mut self, kernel: &mut Kernel, cpu: usize) -> Option<usize> {
        let delay_ns = kernel.pick_delay_ns;
        self.with(kernel, cpu, None, |core| core.pick(core.ids[cpu], delay_ns).map(|task| task as usize))
    }

    fn put_prev(&mut self, kernel: &mut Kernel, cpu: usize, task: usize, _runnable: bool) {
        // The core looks for the next task before it puts the one before away: `pick_next` does both.
        self.with(kernel, cpu, None, |core| {
            let id = core.ids[cpu];
            core.cpus[id as usize].prev = task as u32;
        });
    }

    fn tick(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) -> bool {
        self.with(kernel, cpu, None, |core| core.tick(core.ids[cpu], task as u32))
    }

    fn decision_at(&self, _kernel: &Kernel, _cpu: usize, task: usize) -> Option<u64> {
        let core = self.core.as_ref()?;
        if core.ops.tick.is_some() && core.error.is_none() {
            return Some(0);
        }
        let slice_ns = core.shown(task as u32).scx.slice;
        if slice_ns == SLICE_INF {
            return None;
        }
        let start_ns = core.tasks[task].exec_start_ns.saturating_sub(CLOCK_BASE_NS);
        Some(start_ns.saturating_add(slice_ns))
    }

    fn wakeup_preempt(&mut self, kernel: &mut Kernel, cpu: usize, _current: usize, _woken: usize) -> bool {
        self.with(kernel, cpu, None, |core| core.cpus[core.ids[cpu] as usize].resched)
    }

    fn prepare(&self, task: usize) {
        // The first lines of a task are what the core and most schedulers look at when it wakes up.
        let Some(core) = self.core.as_ref().filter(|core| task < core.tasks.len()) else { return };
        let shown = core.shown(task as u32);
        (0..SHOWN_LINES).for_each(|line| prefetch_line(shown, line));
    }

    fn yield_task(&mut self, kernel: &mut Kernel, cpu: usize, task: usize) {
        self.with(kernel, cpu, None, |core| core.yield_now(task as u32));
    }

    fn timer_at(&self) -> Option<u64> {
        let core = self.core.as_ref().filter(|core| core.error.is_none())?;
        core.timers.first_ns().map(|at_ns| at_ns - CLOCK_BASE_NS)
    }

    fn timer(&mut self, kernel: &mut Kernel) {
        self.with(kernel, 0, None, Core::ring);
        let instructions = std::mem::take(&mut kernel.callback_instructions);
        let ns = kernel.costs.instructions_ns(instructions);
        if ns > 0
            && let Some(core) = &self.core
        {
            kernel.take_time(core.places[core.this_cpu as usize] as usize, ns);
        }
    }

    fn lost_tasks(&self, kernel: &Kernel) -> Option<String> {
        self.core.as_ref().and_then(|core| core.lost_tasks(kernel))
    }

    fn watchdog_ns(&self) -> Option<u64> {
        let core = self.core.as_ref().filter(|core| core.error.is_none())?;
        let given_ms = u64::from(core.ops.timeout_ms);
        Some(if given_ms == 0 { WATCHDOG_NS } else { (given_ms * 1_000_000).min(WATCHDOG_NS) })
    }

    fn error(&self) -> Option<String> {
        self.core.as_ref().and_then(|core| core.error.clone())
    }
}

impl Drop for ScxPolicy {
    fn drop(&mut self) {
        if let Some(core) = &mut self.core {
            core.exit();
        }
    }
}

impl std::fmt::Debug for ScxPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScxPolicy")
            .field("name", &self.name)
            .field("error", &self.error())
            .finish_non_exhaustive()
    }
}
