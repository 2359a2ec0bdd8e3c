//! The words of a Profile: methods, tasks, scheduling classes, accesses, carriers of messages. A row here is all that help, completions,
//! errors, prices, the simulator and pages need of a word; [`Placement`] is the topology's.

use swtch_topology::Placement;
use swtch_units::words;

/// How the tasks of a method hand the CPU to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOff {
    /// Two tasks sleep until the other wakes them: two switches a round trip.
    Pair,
    /// Each of several tasks sleeps until the one before it wakes it.
    Ring,
    /// Two tasks yield to each other: nothing is woken, and it needs one CPU.
    Yield,
}

/// What there is to know of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodFacts {
    /// How its tasks hand over.
    pub hand_off: HandOff,
    /// The kinds of task it is defined for.
    pub tasks: &'static [Tasks],
}

const PAIR: MethodFacts = MethodFacts { hand_off: HandOff::Pair, tasks: &Tasks::ALL };
const RING: MethodFacts = MethodFacts { hand_off: HandOff::Ring, ..PAIR };
const YIELD: MethodFacts = MethodFacts { hand_off: HandOff::Yield, ..PAIR };

words! {
    /// How two or more tasks hand the CPU to each other, from the plainest method to the one that says least about a switch.
    pub enum Method("method"): MethodFacts {
        /// Two pipes, one byte (Ousterhout 1990; Li, Ding, Shen 2007).
        Pipe = "pipe" => PAIR,
        /// Two eventfds.
        Eventfd = "eventfd" => PAIR,
        /// Two futex words.
        Futex = "futex" => PAIR,
        /// A flag, a mutex and a condition variable (Bendersky 2018).
        Condvar = "condvar" => MethodFacts { tasks: &[Tasks::Thread], ..PAIR },
        /// A token round a ring of pipes (McVoy & Staelin 1996, `lat_ctx`).
        Ring = "ring" => RING,
        /// The ring whose token is a running sum of process ids, checked (Yao 2022).
        PidSumRing = "pid-sum-ring" => MethodFacts { tasks: &[Tasks::Process], ..RING },
        /// Two tasks that yield to each other.
        Yield = "yield" => YIELD,
    }
}

impl Method {
    /// Whether it means anything with the tasks on this placement.
    pub fn works_on(self, placement: Placement) -> bool {
        self.facts().hand_off != HandOff::Yield || placement == Placement::SameCpu
    }
}

words! {
    /// What is switched between.
    pub enum Tasks("kind of task") {
        /// Threads of one process: the address space stays.
        Thread = "thread",
        /// Processes: the address space changes.
        Process = "process",
    }
}

impl Tasks {
    /// Several of them.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Thread => "threads",
            Self::Process => "processes",
        }
    }
}

words! {
    /// The scheduling class of the tasks.
    pub enum Class("class") {
        /// `SCHED_OTHER`.
        Normal = "normal",
        /// `SCHED_FIFO`.
        Fifo = "fifo",
    }
}

words! {
    /// What a pass through an array does with each element.
    pub enum Access("access") {
        /// Loads it and adds it to a sum.
        Read = "read",
        /// Stores to it.
        Write = "write",
        /// Loads it, adds one, stores it.
        ReadModifyWrite = "read-modify-write",
    }
}

words! {
    /// What messages go through.
    pub enum Carrier("carrier") {
        /// A pipe.
        Pipe = "pipe",
        /// A stream socket of the family `AF_UNIX`.
        Socket = "socket",
    }
}

words! {
    /// Why a batch is left out.
    pub enum Rejection("reason") {
        /// another task ran on the CPU
        ForeignCpuTime = "foreign-cpu-time",
        /// the spin loop ran slow
        SlowClock = "slow-clock",
        /// a task was moved to another CPU
        Migrated = "migrated",
        /// the switches counted were not those the method makes
        SwitchCount = "switch-count",
    }
}

words! {
    /// A warning about a figure.
    pub enum Flag("flag") {
        /// the work without switches took longer than the work with them: noise is larger than the figure
        Negative = "negative",
        /// other tasks or the hypervisor took CPU time during it
        NoisyHost = "noisy-host",
        /// the kernel counted more or fewer switches than the method should make; the figure is divided by the true count
        UnexpectedSwitchCount = "unexpected-switch-count",
        /// too few batches were left for a narrow interval
        FewBatches = "few-batches",
    }
}

impl Flag {
    /// The names of several, for people.
    pub fn list(flags: &[Self]) -> String {
        flags.iter().map(|flag| flag.name()).collect::<Vec<_>>().join(", ")
    }
}
