//! The state of the simulated sched_ext core (Linux 7.3, kernel/sched/ext.c and ext_idle.c).
//!
//! CPUs have the numbers here that a kernel would give them ([`MachineCpu::id`](crate::machine::MachineCpu::id)); tasks are places in the table.

use super::abi::{self, CpuMask, DSQ_INVALID, PF_IDLE, PF_KTHREAD, Rq, SchedExtOps, TaskStruct};
use super::arena::Arena;
use super::cgroup::Cgroup;
use super::dsq::{Dsq, DsqPosition};
use super::guard::{Guard, MOST_BLOCKS};
use super::idle::Idle;
use super::instructions::{CALLBACK, OWN_EIGHTHS};
use super::maps::Map;
use super::timers::Timers;
use crate::kernel::Kernel;
use std::cell::Cell;
use std::collections::BTreeMap;
use swtch_stats::Rng;

pub(super) const NONE: u32 = u32::MAX;

/// The clock that schedulers see begins here, ns: many take a time of 0 for one that was never set.
pub(super) const CLOCK_BASE_NS: u64 = 1_000_000_000;

/// In which callback the scheduler is, for functions that only some may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    Other,
    /// Choosing a CPU for a task.
    SelectCpu(u32),
    /// Queueing a task.
    Enqueue(u32),
    /// A CPU asks for tasks.
    Dispatch(u32),
}

/// What the core keeps of a task besides what the scheduler sees.
#[derive(Debug)]
pub(super) struct TaskState {
    pub(super) shown: *mut TaskStruct,
    /// The queue it is in, or `NONE`.
    pub(super) dsq: u32,
    pub(super) place: DsqPosition,
    /// Where it is to be put once the callback has returned (direct dispatch).
    pub(super) ddsp_dsq: u64,
    pub(super) ddsp_flags: u64,
    pub(super) ddsp_vtime: u64,
    /// The scheduler has it: `enqueue` returned without having put it anywhere.
    pub(super) in_custody: bool,
    pub(super) exec_start_ns: u64,
}

/// What the core keeps of a CPU.
#[derive(Clone, Debug)]
pub(super) struct CpuState {
    /// The running task; during a choice still the one before.
    pub(super) curr: u32,
    /// The task that has just left the CPU.
    pub(super) prev: u32,
    pub(super) is_idle: bool,
    /// What was queued last wants the CPU at once.
    pub(super) resched: bool,
    pub(super) node: u32,
    pub(super) l3: u32,
    pub(super) capacity: u32,
    /// Where the search for any CPU of a set goes on (`distribute_cpu_mask_prev`).
    pub(super) rotor: u32,
}

/// A task that `dispatch` wants to be put somewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispatched {
    pub(super) task: u32,
    pub(super) dsq: u64,
    pub(super) flags: u64,
    pub(super) vtime: u64,
}

/// The core.
pub(super) struct Core {
    pub(super) ops: SchedExtOps,
    /// What ends callbacks that go on for too long; FLSCHED, which has no loops, goes without.
    pub(super) guard: Option<Guard>,
    /// What the scheduler's callbacks and what they called took since the policy has asked, in instructions.
    pub(super) instructions: u64,
    /// With an offset ([`CLOCK_BASE_NS`]), ns.
    pub(super) now_ns: u64,
    pub(super) this_cpu: u32,
    pub(super) context: Context,
    /// Why the scheduler ended, once it has: from then on tasks are run in the order of their coming (`bypass`).
    pub(super) error: Option<String>,
    pub(super) exit_kind: i32,
    pub(super) exit_code: i64,
    pub(super) exited: bool,
    pub(super) cpus: Vec<CpuState>,
    /// The place of a CPU number in the machine, or `NONE`.
    pub(super) places: Vec<u32>,
    /// The number of the CPU at a place.
    pub(super) ids: Vec<u32>,
    pub(super) rqs: Box<[Rq]>,
    pub(super) nodes: u32,
    pub(super) online: Box<CpuMask>,
    pub(super) idle: Idle,
    pub(super) tasks: Vec<TaskState>,
    /// Local queues by CPU, then global ones by node, then the scheduler's.
    pub(super) dsqs: Vec<Dsq>,
    pub(super) dsq_ids: BTreeMap<u64, u32>,
    /// The same for small numbers, which most are.
    pub(super) small_dsq_ids: Vec<u32>,
    pub(super) dispatched: Vec<Dispatched>,
    /// How many tasks `dispatch` has put somewhere so far.
    pub(super) dispatches: usize,
    /// CPUs to be interrupted, and how.
    pub(super) kicks: Vec<(u32, u64)>,
    /// The scheduler's code asked for some of them.
    pub(super) has_kicked: bool,
    /// CPUs whose running task has got another slice.
    pub(super) rearm: Vec<u32>,
    /// Tasks that have ended, until nothing looks at them any more.
    pub(super) ended: Vec<u32>,
    pub(super) rng: Rng,
    pub(super) timers: Timers,
    pub(super) maps: Vec<*mut Map>,
    pub(super) masks: Masks,
    pub(super) arena: Arena,
    processes: BTreeMap<u32, Process>,
    cgroup: Cgroup,
    idle_tasks: Vec<*mut TaskStruct>,
}

/// Sets of CPUs that the scheduler has made.
#[derive(Debug, Default)]
pub(super) struct Masks {
    pub(super) all: Vec<*mut abi::BpfCpuMask>,
    pub(super) free: Vec<*mut abi::BpfCpuMask>,
}

#[derive(Debug)]
struct Process {
    leader: u32,
    memory: Box<u32>,
}

thread_local! {
    /// The core whose scheduler's code runs on this thread.
    static CURRENT: Cell<*mut Core> = const { Cell::new(std::ptr::null_mut()) };
}

/// Puts the core before back when a call into the scheduler's code returns.
pub(super) struct Entered(*mut Core);

impl Entered {
    /// Whether the scheduler's code ran nowhere on this thread before.
    fn is_first(&self) -> bool {
        self.0.is_null()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Makes a core the one that functions called by the scheduler work on. Nothing may use it otherwise until the call has returned.
pub(super) fn enter(core: *mut Core) -> Entered {
    Entered(CURRENT.replace(core))
}

/// The core whose scheduler calls.
///
/// # Safety
/// Only for functions of the table, which code of a scheduler calls while [`enter`] holds, and only until such a function returns.
pub(super) unsafe fn current<'a>() -> &'a mut Core {
    let core = CURRENT.get();
    assert!(!core.is_null(), "a scheduler's code runs only inside a callback");
    // SAFETY: `enter` was given a core that nothing else uses meanwhile.
    unsafe { &mut *core }
}

/// Calls a callback of the scheduler, if it has it and has not failed. The arguments are values that were worked out before.
macro_rules! call {
    ($core:expr, $op:ident $(, $argument:expr)*) => {{
        let core: &mut $crate::scx::core::Core = $core;
        match core.ops.$op {
            Some(function) if core.error.is_none() => {
                // SAFETY: the loader has checked that the object has these layouts. Tasks live as long as the core, and nothing here
                // uses the core before the call returns. The arguments are pointers and numbers.
                unsafe { core.guarded(concat!("ops.", stringify!($op)), || function($($argument),*)) }
            }
            _ => None,
        }
    }};
}
pub(super) use call;

impl Core {
    /// The core of a machine on which nothing runs yet.
    pub(super) fn new(ops: SchedExtOps, kernel: &mut Kernel) -> Self {
        let machine = &kernel.machine;
        let ids: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.id.get()).collect();
        let count = ids.iter().max().map_or(0, |id| *id as usize + 1);
        let mut places = vec![NONE; count];
        let mut online = Box::new(CpuMask::EMPTY);
        let fastest = machine.types.iter().map(|kind| kind.speed).max().unwrap_or(1).max(1);
        let mut cpus: Vec<CpuState> = (0..count as u32).map(CpuState::absent).collect();
        for (place, cpu) in machine.cpus.iter().enumerate() {
            let id = cpu.id.get() as usize;
            places[id] = place as u32;
            online.insert(id);
            let speed = u64::from(machine.types[cpu.core_type as usize].speed);
            let capacity = (speed * 1024 / u64::from(fastest)) as u32;
            cpus[id] = CpuState {
                is_idle: true,
                node: cpu.node,
                l3: cpu.l3,
                capacity,
                ..CpuState::absent(cpu.id.get())
            };
        }
        let nodes = machine.cpus.iter().map(|cpu| cpu.node + 1).max().unwrap_or(1);
        let locals = (0..count).map(|_| Dsq::new(abi::DSQ_LOCAL));
        let globals = (0..nodes).map(|_| Dsq::new(abi::DSQ_GLOBAL));
        let tracks_idle = ops.update_idle.is_none() || ops.flags & abi::OPS_KEEP_BUILTIN_IDLE != 0;
        let mut core = Self {
            now_ns: CLOCK_BASE_NS + kernel.now_ns,
            this_cpu: ids.first().copied().unwrap_or(0),
            context: Context::Other,
            error: None,
            exit_kind: 0,
            exit_code: 0,
            exited: false,
            idle: Idle::new(machine, tracks_idle),
            cpus,
            places,
            ids,
            rqs: Box::default(),
            nodes,
            online,
            tasks: Vec::new(),
            dsqs: locals.chain(globals).collect(),
            dsq_ids: BTreeMap::new(),
            small_dsq_ids: vec![NONE; 4096],
            dispatched: Vec::new(),
            dispatches: 0,
            kicks: Vec::new(),
            has_kicked: false,
            rearm: Vec::new(),
            ended: Vec::new(),
            rng: Rng::new(kernel.rng.next_u64()),
            timers: Timers::default(),
            maps: Vec::new(),
            masks: Masks::default(),
            arena: Arena::default(),
            processes: BTreeMap::new(),
            cgroup: Cgroup::root(),
            idle_tasks: Vec::new(),
            ops,
            guard: None,
            instructions: 0,
        };
        core.make_run_queues();
        if count > abi::MAX_CPUS {
            core.fail(format!("a scheduler cannot have more than {} CPUs", abi::MAX_CPUS));
        }
        core
    }

    /// Every CPU's run queue and idle task, as the scheduler sees them.
    fn make_run_queues(&mut self) {
        for cpu in 0..self.cpus.len() {
            let mut idle = blank_task();
            idle.flags = PF_IDLE;
            idle.swtch_task = NONE;
            idle.cpu = cpu as u32;
            idle.nr_cpus_allowed = 1;
            idle.cpus_mask.insert(cpu);
            set_name(&mut idle.comm, &format!("swapper/{cpu}"));
            let idle = Box::into_raw(idle);
            // SAFETY: just allocated, and only freed with the core.
            unsafe { (*idle).cpus_ptr = &raw const (*idle).cpus_mask };
            self.idle_tasks.push(idle);
        }
        let rq = |(cpu, idle): (usize, &*mut TaskStruct)| Rq {
            nr_running: 0,
            cpu: cpu as i32,
            curr: *idle,
            idle: *idle,
            clock: 0,
            clock_task: 0,
            scx_nr_running: 0,
            scx_flags: 1,
        };
        self.rqs = self.idle_tasks.iter().enumerate().map(rq).collect();
    }

    /// Enters a task that the kernel has made.
    pub(super) fn add_task(&mut self, kernel: &Kernel, task: usize) {
        debug_assert_eq!(task, self.tasks.len());
        let spec = kernel.spec(task);
        let mut shown = blank_task();
        shown.swtch_task = task as u32;
        shown.pid = task as i32 + 1;
        shown.scx.weight = ((kernel.weight(task) * 100 + 512) / 1024).clamp(1, 10_000);
        shown.scx.slice = abi::SLICE_DFL_NS;
        shown.scx.sticky_cpu = -1;
        shown.scx.holding_cpu = -1;
        shown.static_prio = 120 + i32::from(spec.nice);
        shown.prio = shown.static_prio;
        shown.normal_prio = shown.static_prio;
        shown.policy = 7;
        shown.flags = if spec.kernel_thread { PF_KTHREAD } else { 0 };
        shown.start_time = self.now_ns;
        shown.start_boottime = self.now_ns;
        shown.recent_used_cpu = -1;
        set_name(&mut shown.comm, &spec.name);
        for (place, id) in self.ids.iter().enumerate() {
            if kernel.may_use(task, place) {
                shown.cpus_mask.insert(*id as usize);
                shown.nr_cpus_allowed += 1;
            }
        }
        let process = self.processes.entry(spec.process);
        let process =
            process.or_insert_with(|| Process { leader: task as u32, memory: Box::new(spec.process) });
        let (leader, memory) = (process.leader, std::ptr::from_mut(process.memory.as_mut()));
        shown.tgid = leader as i32 + 1;
        shown.mm = memory.cast();
        (shown.cgroups, shown.sched_task_group) = (self.cgroup.set(), self.cgroup.task_group());
        let all = shown.nr_cpus_allowed as usize == self.ids.len();
        let shown = Box::into_raw(shown);
        self.tasks.push(TaskState {
            shown,
            dsq: NONE,
            place: DsqPosition::default(),
            ddsp_dsq: DSQ_INVALID,
            ddsp_flags: 0,
            ddsp_vtime: 0,
            in_custody: false,
            exec_start_ns: 0,
        });
        let parent = self.parent_of(kernel, task, leader);
        let leader = self.tasks[leader as usize].shown;
        // SAFETY: just allocated, and only freed with the core.
        let own_mask = unsafe { &raw const (*shown).cpus_mask };
        let online: *const CpuMask = self.online.as_ref();
        let shown = self.shown_mut(task as u32);
        shown.cpus_ptr = if all { online } else { own_mask };
        shown.group_leader = leader;
        shown.parent = parent;
        shown.real_parent = parent;
    }

    /// The parent as the kernel has it (`copy_process`, kernel/fork.c of 7.3): threads have that of their process. Those that no task of the
    /// workload made have one parent, as children of one program have.
    fn parent_of(&self, kernel: &Kernel, task: usize, leader: u32) -> *mut TaskStruct {
        if leader as usize != task {
            return self.shown(leader).real_parent;
        }
        kernel.parent(task).map_or(self.idle_tasks[0], |parent| self.tasks[parent].shown)
    }

    /// A task as the scheduler sees it.
    #[inline]
    pub(super) fn shown(&self, task: u32) -> &TaskStruct {
        // SAFETY: allocated with the task and freed with the core; the scheduler's code does not run while the core does.
        unsafe { &*self.tasks[task as usize].shown }
    }

    /// A task as the scheduler sees it.
    #[inline]
    pub(super) fn shown_mut(&mut self, task: u32) -> &mut TaskStruct {
        // SAFETY: as in `shown`.
        unsafe { &mut *self.tasks[task as usize].shown }
    }

    /// Sets what runs on a CPU.
    #[inline]
    pub(super) fn set_curr(&mut self, cpu: u32, task: u32) {
        let old = std::mem::replace(&mut self.cpus[cpu as usize].curr, task);
        if old == task {
            return;
        }
        if old != NONE {
            self.shown_mut(old).on_cpu = 0;
        }
        let shown = match task {
            NONE => self.idle_tasks[cpu as usize],
            task => {
                let shown = self.tasks[task as usize].shown;
                self.shown_mut(task).on_cpu = 1;
                shown
            }
        };
        let rq = &mut self.rqs[cpu as usize];
        rq.curr = shown;
        rq.clock = self.now_ns;
        rq.clock_task = self.now_ns;
    }

    /// Whether there is a CPU of this number.
    #[inline]
    pub(super) fn is_cpu(&self, cpu: u32) -> bool {
        self.places.get(cpu as usize).is_some_and(|place| *place != NONE)
    }

    /// Whether a task may use a CPU.
    #[inline]
    pub(super) fn may_use(&self, task: u32, cpu: u32) -> bool {
        let shown = self.shown(task);
        shown.nr_cpus_allowed as usize == self.ids.len() || shown.cpus_mask.contains(cpu as usize)
    }

    /// Calls the scheduler's code. `None` if it was ended because it went on for too long; the scheduler has failed then.
    ///
    /// # Safety
    /// `function` calls a function of this core's scheduler, whose arguments are valid; it has no destructor.
    #[inline]
    pub(super) unsafe fn guarded<R: Copy>(
        &mut self,
        callback: &str,
        function: impl Fn() -> R + Copy,
    ) -> Option<R> {
        let entered = enter(std::ptr::from_mut(self));
        self.instructions += CALLBACK;
        let Some(guard) = self.guard else { return Some(function()) };
        // SAFETY: the caller's promise; the guard is that of the scheduler.
        let result = unsafe { guard.call(function) };
        if entered.is_first() {
            self.instructions += guard.executed() * OWN_EIGHTHS / 8;
        }
        drop(entered);
        if result.is_none() {
            let callback = callback.trim_end_matches('_');
            self.fail(format!("{callback}() did not return within {MOST_BLOCKS} steps (basic blocks of its code): it loops without end, or for longer than a kernel would let it"));
        }
        result
    }

    /// The scheduler has failed; the first reason counts (`scx_error`).
    pub(super) fn fail(&mut self, problem: String) {
        if self.error.is_none() {
            self.exit_kind = abi::EXIT_ERROR_BPF;
            self.error = Some(problem);
        }
    }

    /// A set of CPUs for the scheduler.
    pub(super) fn new_mask(&mut self) -> *mut abi::BpfCpuMask {
        let blank = || abi::BpfCpuMask { mask: CpuMask::EMPTY, usage: 1 };
        if let Some(mask) = self.masks.free.pop() {
            // SAFETY: the scheduler has given this one back; it lives as long as the core.
            unsafe { mask.write(blank()) };
            return mask;
        }
        let mask = Box::into_raw(Box::new(blank()));
        self.masks.all.push(mask);
        mask
    }

    /// The cgroup that every task is in.
    pub(super) fn root_cgroup(&mut self) -> *mut std::ffi::c_void {
        self.cgroup.shown()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        for task in self.tasks.iter().map(|task| task.shown).chain(self.idle_tasks.iter().copied()) {
            // SAFETY: from a box, freed once, and the scheduler's code does not run any more.
            drop(unsafe { Box::from_raw(task) });
        }
        for mask in &self.masks.all {
            // SAFETY: as above; masks that are free are in `all` too.
            drop(unsafe { Box::from_raw(*mask) });
        }
        for map in &self.maps {
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(*map) });
        }
    }
}

impl CpuState {
    fn absent(cpu: u32) -> Self {
        Self {
            curr: NONE,
            prev: NONE,
            is_idle: false,
            resched: false,
            node: 0,
            l3: 0,
            capacity: 1024,
            rotor: cpu,
        }
    }
}

fn blank_task() -> Box<TaskStruct> {
    // SAFETY: integers, pointers and a `bool`, for all of which zeros are a value.
    Box::new(unsafe { std::mem::MaybeUninit::<TaskStruct>::zeroed().assume_init() })
}

/// A name as the kernel keeps it: at most 15 bytes and a zero.
fn set_name(comm: &mut [u8; 16], name: &str) {
    for (to, from) in comm[..15].iter_mut().zip(name.bytes().filter(|byte| *byte != 0)) {
        *to = from;
    }
}
