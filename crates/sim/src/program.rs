//! What a task does: a small program.
//!
//! Work is in ns on the reference core ([`REFERENCE_SPEED`](crate::machine::REFERENCE_SPEED)). Objects (pipes, locks, barriers ...) are
//! places in the tables of the [`Workload`](crate::workload::Workload).

/// One step of a program. What a system call itself takes is charged by [`Costs`](crate::costs::Costs), before its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Computes for `work_ns` of work.
    Compute {
        /// Time on the reference core, ns.
        work_ns: u64,
    },
    /// Computes for a random time, evenly distributed, both ends included.
    ComputeBetween {
        /// At least, ns on the reference core.
        low_ns: u64,
        /// At most, ns on the reference core.
        high_ns: u64,
    },
    /// Sleeps for a time on the clock.
    Sleep {
        /// How long, ns.
        ns: u64,
    },
    /// Sleeps for a random time, evenly distributed, both ends included.
    SleepBetween {
        /// At least, ns.
        low_ns: u64,
        /// At most, ns.
        high_ns: u64,
    },
    /// Sleeps until the next multiple of a period since the task began (since it first came here); does not sleep when it is late.
    SleepUntilPeriod {
        /// The period, ns.
        ns: u64,
    },
    /// Sleeps until the next multiple of a period since the task began (since it first came here) that is still to come: a task that is late
    /// skips those that have passed.
    SleepUntilNextPeriod {
        /// The period, ns.
        ns: u64,
    },
    /// Sleeps until a timer's next time: a period after its last, the first a period after the task began. When it is late it does not
    /// sleep, and if `relative` the next time counts from now (rt-app's timers).
    Timer {
        /// Which of the task's timers, 0 to 3.
        timer: u8,
        /// The period, ns.
        ns: u64,
        /// What being late does: as above, or nothing.
        relative: bool,
    },
    /// Writes a message into a pipe, waiting while it is full.
    Send {
        /// The pipe.
        pipe: u32,
        /// Length of the message, bytes.
        bytes: u32,
    },
    /// Reads a message of this length from a pipe, waiting until all of it is there.
    Receive {
        /// The pipe.
        pipe: u32,
        /// Length of the message, bytes.
        bytes: u32,
    },
    /// Calls the kernel for something that takes this many of its instructions.
    Call {
        /// How many.
        instructions: u32,
    },
    /// Takes a lock that sleeps.
    Lock {
        /// The lock.
        lock: u32,
    },
    /// Gives it back; the task that has waited longest gets it.
    Unlock {
        /// The lock.
        lock: u32,
    },
    /// Gives the lock back, waits for the condition, takes the lock again.
    Wait {
        /// The condition.
        condition: u32,
        /// The lock that goes with it.
        lock: u32,
    },
    /// Wakes the task that has waited longest for the condition, if any.
    Signal {
        /// The condition.
        condition: u32,
    },
    /// Wakes all that wait for the condition.
    Broadcast {
        /// The condition.
        condition: u32,
    },
    /// Waits until all members have come to the barrier.
    Barrier {
        /// The barrier.
        barrier: u32,
    },
    /// Opens a loop for the tasks of a team, which share its pieces.
    Open {
        /// The team.
        team: u32,
        /// Pieces.
        pieces: u32,
    },
    /// Takes pieces of the team's loop, one after another, until none is left.
    Share {
        /// The team.
        team: u32,
        /// Work of a piece on the reference core, ns.
        piece_ns: u64,
    },
    /// Waits until all pieces of the team's loop are done.
    Join {
        /// The team.
        team: u32,
    },
    /// Waits until the team has a loop with pieces that no task has taken.
    Attend {
        /// The team.
        team: u32,
    },
    /// Adds one to a semaphore and wakes the task that has waited longest, if any.
    Post {
        /// The semaphore.
        semaphore: u32,
    },
    /// Adds one to each of several semaphores in one call, to the last of them first: what a write to a pipe is to all that poll it. No other
    /// task takes its place before the call is over.
    PostAll {
        /// The first semaphore.
        first: u32,
        /// The last one.
        last: u32,
    },
    /// Adds one to a semaphore, as [`Op::Post`], and says which other semaphore the answer is to go to.
    Ask {
        /// The semaphore.
        semaphore: u32,
        /// The one of the answer.
        answer: u32,
    },
    /// Adds one to the semaphore of the answer that has been awaited longest by those who asked.
    Answer {
        /// The semaphore that was asked by.
        semaphore: u32,
    },
    /// Takes one from a semaphore, waiting while it is zero.
    Acquire {
        /// The semaphore.
        semaphore: u32,
    },
    /// Starts a task with this program, a child of this one.
    Fork {
        /// A place in [`Workload::templates`](crate::workload::Workload::templates).
        template: u32,
    },
    /// Ends all tasks with this program that do not do so themselves, as a signal does that kills: those that sleep wake up and end, the others
    /// end when they next have a CPU. What they hold stays held, and pieces of a loop that they have taken stay undone.
    Kill {
        /// A place in [`Workload::templates`](crate::workload::Workload::templates).
        template: u32,
    },
    /// Waits until all its children have ended. Each process that ends wakes it, as in a program that calls `wait` for each.
    WaitChildren,
    /// Waits until all its children with this program have ended.
    WaitFor {
        /// A place in [`Workload::templates`](crate::workload::Workload::templates).
        template: u32,
    },
    /// Begins a session of its own (`setsid`). Where sessions are groups to the scheduler (`sched_autogroup_create_attach`, kernel/sched/autogroup.c), the
    /// task moves to another one, and others may run before it goes on.
    NewSession,
    /// Lets others run (`sched_yield`).
    Yield,
    /// Goes back to `to` until it has come here `times` times, then goes on. Loops may be nested four deep.
    Loop {
        /// A place in the program, before this one.
        to: u32,
        /// How often the body runs in all; 0 is for ever.
        times: u32,
        /// Which of the task's counters it uses, 0 to 3.
        counter: u8,
    },
    /// From here on the task runs at other speeds (a phase): a place in [`Workload::applications`](crate::workload::Workload::applications).
    Become {
        /// The application.
        application: u32,
    },
    /// A request begins: the time until [`Op::RequestEnds`] is taken.
    RequestBegins,
    /// The request ends.
    RequestEnds,
    /// Ends the task. Coming to the end of the program does the same.
    Exit,
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its steps.
    pub ops: Vec<Op>,
}
