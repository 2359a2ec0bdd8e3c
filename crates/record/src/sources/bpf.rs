//! BPF programs at the scheduler's tracepoints: every switch and wake-up, its cost measured in place where the kernel allows.

mod horizon;
mod rings;
mod shared;

use crate::clock::monotonic_ns;
use crate::sources::mapping::Mapping;
use crate::sources::privileges::Privileges;
use horizon::Horizon;
use libbpf_rs::btf::{
    Btf,
    types::{Func, Typedef},
};
use libbpf_rs::skel::{OpenSkel, Skel as _, SkelBuilder};
use libbpf_rs::{OpenObject, OpenProgramMut, PrintLevel, ProgramInput};
use rings::Rings;
pub(crate) use rings::{Losses, PackedEvent, PackedEvents, Round, Sink};
use shared::{HARD_LINES, INFO_SHIFT, LINES, RawEvent, RawInterrupt, SOFT_KINDS, TIMER_LINE};
use skeleton::{RecordSkel, RecordSkelBuilder};
use std::io;
use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};
use swtch_trace::tables::{InterruptKind, InterruptRow, merge_equal};

#[allow(clippy::all, clippy::pedantic, missing_docs, unreachable_pub, unused, unsafe_op_in_unsafe_fn)]
#[allow(clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/record.skel.rs"));
}

/// What an event takes of a CPU's buffer.
pub(crate) const EVENT_BYTES: u64 = size_of::<RawEvent>() as u64;

/// On a machine of more CPUs the programs do not tell which are idle: they are bits of one number.
pub(crate) const MOST_TOLD_CPUS: usize = 64;

/// Why the programs cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BpfError {
    /// The kernel does not let us.
    #[error("BPF is not permitted here: {0}; {advice}", advice = Privileges::read().for_bpf())]
    NotPermitted(io::Error),
    /// The kernel describes none of its types, or has none of the tracepoints.
    #[error("this kernel has no {0}; it needs CONFIG_DEBUG_INFO_BTF, and 5.5 or later")]
    NoTracepoints(&'static str),
    /// Something else.
    #[error("the kernel refused the programs while {doing}: {why}")]
    Refused {
        /// What was tried.
        doing: &'static str,
        /// The library's words, in one line.
        why: String,
    },
    /// Memory of a map could not be mapped.
    #[error("cannot map the programs' memory: {0}; a smaller --buffer needs less")]
    Memory(io::Error),
}

/// What is wanted of the programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadOptions {
    /// Bytes of the ring of events of each CPU; rounded down to a power of two.
    pub buffer_bytes: u64,
    /// Only the tasks given to [`Bpf::set_followed`] and their descendants are recorded.
    pub scoped: bool,
    /// A task's cgroup is that of the cpu controller's own hierarchy (version 1), not of the common one (version 2).
    pub cpu_hierarchy: bool,
    /// The cost of every switch is measured where it happens, if the kernel allows.
    pub in_place: bool,
}

/// What the running kernel has of what the programs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracepoints {
    /// `sched_entry_tp` and `sched_exit_tp`, between which the cost of a switch is measured in place.
    pub entry_exit: bool,
    /// `irq_handler_entry`, `softirq_entry` and their exits.
    pub interrupts: bool,
    /// `local_timer_entry` and its exit.
    pub timer: bool,
    /// `task_rename`.
    pub names: bool,
    /// `bpf_task_acquire` (6.2 and later), by which a task that ends is kept until its last switch is over.
    pub keeps_tasks: bool,
}

impl Tracepoints {
    /// Reads the kernel's own description of its types.
    ///
    /// # Errors
    /// When there is none, or the scheduler's tracepoints are not in it.
    pub fn probe() -> Result<Self, BpfError> {
        let types =
            Btf::from_vmlinux().map_err(|_| BpfError::NoTracepoints("BTF (/sys/kernel/btf/vmlinux)"))?;
        let has = |name: &str| types.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}")).is_some();
        if !(has("sched_switch") && has("sched_waking")) {
            return Err(BpfError::NoTracepoints("typed tracepoints of the scheduler"));
        }
        Ok(Self {
            entry_exit: has("sched_entry_tp") && has("sched_exit_tp"),
            interrupts: has("irq_handler_entry") && has("softirq_entry"),
            timer: has("local_timer_entry"),
            names: has("task_rename"),
            keeps_tasks: types.type_by_name::<Func<'_>>("bpf_task_acquire").is_some(),
        })
    }
}

/// The programs, attached.
pub(crate) struct Bpf {
    rings: Rings,
    followed: Mapping<u64>,
    interrupts: Mapping<RawInterrupt>,
    tracepoints: Tracepoints,
    tells_idle: bool,
    memory_bytes: u64,
    /// Detaches the programs when it goes.
    skeleton: RecordSkel<'static>,
}

impl Bpf {
    /// Loads the programs without attaching them: nothing is seen yet, and tasks can be given to [`set_followed`](Self::set_followed).
    ///
    /// # Errors
    /// When the kernel does not allow it or has not what it takes.
    pub(crate) fn load(wish: LoadOptions) -> Result<Self, BpfError> {
        let mut tracepoints = Tracepoints::probe()?;
        tracepoints.entry_exit &= wish.in_place;
        let cpus = libbpf_rs::num_possible_cpus().map_err(|error| refused("counting the CPUs", &error))?;
        let shift = (wish.buffer_bytes / EVENT_BYTES).max(64).ilog2().min(26);
        let words = task_limit().div_ceil(64);
        let tells_idle = wish.scoped && cpus <= MOST_TOLD_CPUS;
        let skeleton = loaded::<RecordSkelBuilder>(|open| {
            if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
                constants.ring_mask = (1 << shift) - 1;
                constants.ring_shift = shift;
                constants.scoped = wish.scoped;
                constants.tells_idle = tells_idle;
                constants.cpu_hierarchy = wish.cpu_hierarchy;
                constants.followed_words = words;
            }
            choose(&mut open.progs, tracepoints, wish.scoped);
            open.progs.look_for_idle.set_autoload(tells_idle);
            open.progs.look_for_idle.set_autoattach(false);
            open.maps.events.set_max_entries((cpus as u32) << shift)?;
            open.maps.rings.set_max_entries(cpus as u32)?;
            open.maps.infos.set_max_entries((cpus as u32) << INFO_SHIFT)?;
            open.maps.interrupts.set_max_entries(cpus as u32 * LINES)?;
            open.maps.followed.set_max_entries(words)
        })?;
        let maps = &skeleton.maps;
        let mapped = (|| {
            let rings = Rings {
                heads: Mapping::new(&maps.rings, cpus)?,
                events: Mapping::new(&maps.events, cpus << shift)?,
                infos: Mapping::new(&maps.infos, cpus << INFO_SHIFT)?,
                shift,
                horizon: Horizon::new(cpus, monotonic_ns()),
            };
            let followed = Mapping::new(&maps.followed, words as usize)?;
            let interrupts = Mapping::new(&maps.interrupts, cpus * LINES as usize)?;
            Ok((rings, followed, interrupts))
        })();
        let (rings, followed, interrupts) = mapped.map_err(BpfError::Memory)?;
        let memory_bytes = [
            rings.events.bytes(),
            rings.heads.bytes(),
            rings.infos.bytes(),
            followed.bytes(),
            interrupts.bytes(),
        ];
        let memory_bytes = memory_bytes.iter().sum::<usize>() as u64;
        Ok(Self { rings, followed, interrupts, tracepoints, tells_idle, memory_bytes, skeleton })
    }

    /// Attaches the programs: from here on they see.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn attach(&mut self) -> Result<(), BpfError> {
        self.skeleton.attach().map_err(|error| refused("attaching them", &error))?;
        if self.tells_idle {
            for cpu in 0..self.rings.heads.len() as u32 {
                // A CPU that is off is not idle. Where the kernel does not know how (before 5.10), one is idle from its next switch on.
                let _ = self.skeleton.progs.look_for_idle.test_run(on_cpu(cpu));
            }
        }
        Ok(())
    }

    /// Whether it is known which CPUs are idle while tasks of the scope wait.
    pub(crate) fn tells_idle(&self) -> bool {
        self.tells_idle
    }

    /// Records a task and, from then on, its descendants, or ends that; descendants are still recorded then.
    pub(crate) fn set_followed(&self, tid: u32, on: bool) {
        self.followed.set_bit(tid, on);
    }

    /// Takes the programs off: from here on they see nothing. What they saw can still be drained.
    pub(crate) fn detach(&mut self) {
        self.skeleton.links = skeleton::RecordLinks::default();
    }

    /// Moves what the programs saw to `out`, CPU by CPU.
    pub(crate) fn drain(&mut self, out: &mut impl Sink) -> Round {
        self.rings.drain(out)
    }

    /// How full the fullest ring is, from 0 to 1.
    pub(crate) fn full(&self) -> f64 {
        self.rings.full()
    }

    /// Events lost because a ring was full, by CPU.
    pub(crate) fn lost(&self) -> Vec<Losses> {
        self.rings.lost()
    }

    /// Which tracepoints there are.
    pub(crate) fn tracepoints(&self) -> Tracepoints {
        self.tracepoints
    }

    /// The switches that were entered and have no event yet, those into new tasks among them: where, the task that left, when, ns.
    pub(crate) fn pending(&self) -> Vec<(u32, u32, u64)> {
        self.rings.pending()
    }

    /// Memory of the programs' maps.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Count and time of the interrupts of each line, on all CPUs and on each, since the start; those without any left out.
    pub(crate) fn interrupts(&self) -> Vec<InterruptRow> {
        let lines = LINES as usize;
        let read = (0..self.interrupts.len()).map(|index| (index, self.interrupts.read(index)));
        let counted = read.filter(|(_, raw)| raw.count > 0);
        let rows = counted.flat_map(|(index, raw)| {
            let (kind, line) = line((index % lines) as u32);
            let (count, ns) = (raw.count, Some(raw.ns));
            let row = InterruptRow { kind, line, count, ns, ..InterruptRow::default() };
            [InterruptRow { cpu: Some((index / lines) as u32), ..row.clone() }, row]
        });
        merge_equal(rows.collect())
    }
}

/// What interrupts, as `/proc/interrupts` and `/proc/softirqs` name it.
fn line(index: u32) -> (InterruptKind, String) {
    match index {
        TIMER_LINE => (InterruptKind::Hard, "LOC".to_owned()),
        index if index < HARD_LINES => (InterruptKind::Hard, index.to_string()),
        index => (InterruptKind::Soft, soft_name((index - HARD_LINES).min(SOFT_KINDS - 1))),
    }
}

/// Kinds of soft interrupts in the order of the kernel (include/linux/interrupt.h, v6.18).
fn soft_name(kind: u32) -> String {
    const NAMES: [&str; 10] =
        ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
    NAMES.get(kind as usize).map_or_else(|| kind.to_string(), |name| (*name).to_owned())
}

/// Loads the programs that the kernel has tracepoints for.
fn choose(programs: &mut skeleton::OpenRecordProgs<'_>, has: Tracepoints, scoped: bool) {
    let set = |program: &mut OpenProgramMut<'_>, wanted| program.set_autoload(wanted);
    set(&mut programs.entered, has.entry_exit);
    set(&mut programs.left, has.entry_exit);
    set(&mut programs.switched, !has.entry_exit);
    set(&mut programs.woken, scoped);
    set(&mut programs.renamed, has.names);
    for program in [
        &mut programs.hard_began,
        &mut programs.hard_ended,
        &mut programs.soft_began,
        &mut programs.soft_ended,
    ] {
        set(program, has.interrupts);
    }
    set(&mut programs.timer_began, has.timer);
    set(&mut programs.timer_ended, has.timer);
}

/// How often programs are loaded while signals come in between.
const MOST_TRIES: u32 = 20;

/// Loads programs, `prepare`d: their constants, the sizes of their maps, and which of them.
///
/// A signal ends the kernel's check of a program (EAGAIN; kernel/bpf/verifier.c, v6.18), also one that stops this process for a moment. The
/// library tries again a few times, and this does so too.
pub(super) fn loaded<B: SkelBuilder<'static> + Default>(
    mut prepare: impl FnMut(&mut B::Output) -> libbpf_rs::Result<()>,
) -> Result<<B::Output as OpenSkel<'static>>::Output, BpfError> {
    let mut tries = 1;
    loop {
        match loaded_once::<B>(&mut prepare) {
            Err((error, refused)) if error != libbpf_rs::ErrorKind::WouldBlock || tries == MOST_TRIES => {
                return Err(refused);
            }
            Err(_) => tries += 1,
            Ok(found) => return Ok(found),
        }
    }
}

/// The same, or why not.
fn loaded_once<B: SkelBuilder<'static> + Default>(
    prepare: &mut impl FnMut(&mut B::Output) -> libbpf_rs::Result<()>,
) -> Result<<B::Output as OpenSkel<'static>>::Output, (libbpf_rs::ErrorKind, BpfError)> {
    let refused = |doing, error: &libbpf_rs::Error| (error.kind(), refused(doing, error));
    // The library writes to the terminal unless this takes its words; a refusal has the last of them.
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, words| said().push_str(&words))));
    said().clear();
    // The skeleton borrows this while it lives. It is leaked, which leaves some bytes a recording behind.
    let place: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = B::default().open(place).map_err(|error| refused("reading them", &error))?;
    prepare(&mut open).map_err(|error| refused("sizing their maps", &error))?;
    open.load().map_err(|error| refused("loading them", &error))
}

/// Calls bpf once, for a map that is gone at once: seccomp filters of containers refuse the call whatever the capabilities are.
pub(crate) fn try_call() -> Result<(), BpfError> {
    let options = libbpf_rs::libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_rs::libbpf_sys::bpf_map_create_opts>() as libbpf_rs::libbpf_sys::size_t,
        ..Default::default()
    };
    let map = libbpf_rs::MapHandle::create(libbpf_rs::MapType::Array, None::<&str>, 4, 4, 1, &options);
    map.map(drop).map_err(|error| refused("making a map", &error))
}

/// Has a program run on one CPU (`BPF_F_TEST_RUN_ON_CPU`, include/uapi/linux/bpf.h).
pub(super) fn on_cpu(cpu: u32) -> ProgramInput<'static> {
    ProgramInput { cpu, flags: 1, ..ProgramInput::default() }
}

pub(super) fn refused(doing: &'static str, error: &libbpf_rs::Error) -> BpfError {
    match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => {
            BpfError::NotPermitted(io::Error::from(io::ErrorKind::PermissionDenied))
        }
        libbpf_rs::ErrorKind::OutOfMemory => BpfError::Memory(io::Error::from(io::ErrorKind::OutOfMemory)),
        _ => BpfError::Refused { doing, why: reason(&format!("{error:#}"), &said()) },
    }
}

/// What the library said since programs were loaded last.
fn said() -> MutexGuard<'static, String> {
    static SAID: Mutex<String> = Mutex::new(String::new());
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error with what the kernel's verifier found last, or else the first warning of the library, in one line.
fn reason(error: &str, warnings: &str) -> String {
    let log = warnings.split_once("-- BEGIN PROG LOAD LOG --").map(|(_, rest)| rest);
    let of_verifier = log.and_then(|log| {
        let log = log.split("-- END PROG LOAD LOG --").next()?;
        log.lines()
            .rfind(|line| !line.is_empty() && !line.starts_with("processed ") && !line.starts_with("libbpf:"))
    });
    let error = error.replace('\n', " ");
    match of_verifier.or_else(|| warnings.lines().next()) {
        Some(detail) => format!("{error} ({})", detail.trim()),
        None => error,
    }
}

/// Numbers that tasks can have (`/proc/sys/kernel/pid_max`).
pub(super) fn task_limit() -> u32 {
    let text = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    text.trim().parse().unwrap_or(1 << 22).clamp(1 << 15, 1 << 22)
}
