//! What the simulated kernel's work takes.

mod measured;
mod messages;
mod presets;

use crate::hook::{Family, HOOKS, Hook};
use crate::machine::Distance;
pub use crate::slabs::SlabCosts;
pub(crate) use messages::SOCKET_OVERHEAD_BYTES;

/// Why costs are assumed where no Profile was given. The plan completes it with the remedy.
pub(crate) const NO_PROFILE: &str = "no Profile was given";

/// Everything that takes time besides the tasks' own work. All times are of the reference core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// A switch between tasks of different processes, the scheduling class's hooks left out, ns.
    pub process_switch_ns: u64,
    /// A switch between threads of a process, likewise, ns.
    pub thread_switch_ns: u64,
    /// A switch to or from the idle task, likewise, ns.
    pub idle_switch_ns: u64,
    /// What a wake-up takes on the waker's CPU, hooks left out, ns.
    pub wake_ns: u64,
    /// From there until another CPU hears of it (the interrupt between CPUs), ns.
    pub ipi_ns: u64,
    /// What coming out of idleness takes on top of that, ns.
    pub idle_exit_ns: u64,
    /// A timer's interrupt, ns.
    pub interrupt_ns: u64,
    /// One timer tick, ns; less than [`tick_period_ns`](Self::tick_period_ns).
    pub tick_ns: u64,
    /// Time between ticks (1 / HZ), ns.
    pub tick_period_ns: u64,
    /// What a migration adds, by [`Distance`], ns.
    pub migration_ns: [u64; 6],
    /// The cost of refilling the caches when a task comes back after others, by its working set. The points are (bytes, ns),
    /// ascending. Between two points it is interpolated; beyond the last it stays.
    pub refill: Vec<(u64, u64)>,
    /// Writing or reading a pipe, ns.
    pub pipe_ns: u64,
    /// Writing or reading a socket, ns.
    pub socket_ns: u64,
    /// What writing a pipe takes more than `pipe_ns`, and reading it less, ns.
    pub pipe_write_more_ns: i64,
    /// The same of a socket, ns.
    pub socket_write_more_ns: i64,
    /// The time that a call on a pipe takes more when the message's memory is not near, ns. It is not near when more than
    /// [`near_cache_bytes`](Self::near_cache_bytes) have been written, or read, in a row.
    pub cold_pipe_ns: u64,
    /// What of that writing a pipe takes more, and reading it less, ns.
    pub cold_pipe_write_more_ns: i64,
    /// What calls on sockets take more where the memory of their messages is not near.
    pub slabs: SlabCosts,
    /// What calls on sockets take more where many other messages have been used since.
    pub evicted: EvictionCosts,
    /// What going to sleep at an empty socket takes more than at an empty pipe (`unix_stream_data_wait`, net/unix/af_unix.c), ns.
    pub socket_sleep_ns: u64,
    /// A page for a pipe that has no free one, ns.
    pub pipe_page_ns: u64,
    /// What a call on a pipe takes more when another CPU used the pipe last: the kernel's own lines come from there, ns.
    pub pipe_lines_ns: u64,
    /// The same of a socket, ns.
    pub socket_lines_ns: u64,
    /// What reading a message from a pipe takes more when another CPU wrote it, ns.
    pub pipe_data_ns: u64,
    /// The same of a socket, ns.
    pub socket_data_ns: u64,
    /// What either takes more of a thread beside others of its process, ns. The call holds the open file, because another thread could close it
    /// (`__fget_light`, fs/file.c), and the C library looks whether the thread is to be cancelled.
    pub shared_file_ns: u64,
    /// Memory of messages that is near when it is used again: in the CPU's own cache, or among the allocator's objects of that CPU, bytes.
    pub near_cache_bytes: u64,
    /// Copying a byte through either, in thousandths of a ns.
    pub byte_ps: u64,
    /// The part of such a call for which the pipe's own mutex is held, in thousandths. A task that finds the mutex taken spins while its owner
    /// runs, and sleeps while the owner does not run.
    pub pipe_locked_per_mille: u32,
    /// The same for a socket.
    pub socket_locked_per_mille: u32,
    /// Room in a pipe wakes all that wait to write and not only the first, as before Linux 5.6. Room in a socket always does.
    pub wakes_all_writers: bool,
    /// An operation on a lock, condition or semaphore that needs the kernel, ns.
    pub futex_ns: u64,
    /// Looking once whether a barrier has opened, before the next yield, ns.
    pub barrier_look_ns: u64,
    /// `sched_yield` itself, ns.
    pub yield_ns: u64,
    /// Going to sleep for a time, ns.
    pub sleep_ns: u64,
    /// For how long the kernel may let a task sleep on after its time, so that one interrupt wakes several (`timer_slack_ns` of a task; the
    /// real-time classes have none), ns.
    pub timer_slack_ns: u64,
    /// Making a process, ns.
    pub fork_ns: u64,
    /// Making a thread, ns.
    pub thread_fork_ns: u64,
    /// What a process does before its own first step, ns: it gets the memory that it does not share any more.
    pub start_ns: u64,
    /// The same of a thread, ns.
    pub thread_start_ns: u64,
    /// Making a thread takes that much more where it gets a new stack and not that of one that has ended, ns.
    pub new_stack_ns: u64,
    /// What such a thread itself does more before its own first step, ns: the first touch of its stack.
    pub new_stack_start_ns: u64,
    /// Ending a process, ns.
    pub exit_ns: u64,
    /// Ending a thread, ns.
    pub thread_exit_ns: u64,
    /// A task that ends is moved between groups first, and others may run before it goes on. `sched_autogroup_exit_task` calls
    /// `sched_move_task`, whose `resched_curr` follows (kernel/sched/core.c of 7.3 with CONFIG_SCHED_AUTOGROUP).
    pub regroups_on_exit: bool,
    /// After how long the next of the kernel's own threads comes to a CPU, ns; 0: there are none.
    pub kernel_threads_every_ns: u64,
    /// For how long it stays there, ns.
    pub kernel_thread_run_ns: u64,
    /// What each hook of a scheduling class takes, by [`Family`] and [`Hook`], ns.
    pub hook_ns: [[u32; HOOKS]; Family::COUNT],
    /// An instruction of the kernel and of a scheduler's callbacks, in thousandths of a ns.
    pub instruction_ps: u64,
    /// For how long of that the run queue's lock is held, in thousandths, by family: a hook that finds it taken spins.
    pub locked_per_mille: [u32; Family::COUNT],
}

/// What calls on sockets take more because other messages have pushed a message's memory out of the caches.
///
/// It grows evenly from nothing, where [`from_messages`](Self::from_messages) others have been written or read since the message was written, to the
/// whole where [`to_messages`](Self::to_messages) have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictionCosts {
    /// Up to this number of others do not matter.
    pub from_messages: u64,
    /// More than this number matter no more than it.
    pub to_messages: u64,
    /// Of a write then, ns.
    pub write_ns: u64,
    /// Of a read, ns.
    pub read_ns: u64,
}

impl EvictionCosts {
    pub(crate) fn ns(&self, others: u64, reads: bool) -> u64 {
        let whole_ns = if reads { self.read_ns } else { self.write_ns };
        let span = self.to_messages.saturating_sub(self.from_messages).max(1);
        whole_ns * others.saturating_sub(self.from_messages).min(span) / span
    }
}

/// What a socket's message of 100 bytes takes of memory.
pub(crate) const NEAR_MESSAGE_BYTES: u64 = messages::SOCKET_OVERHEAD_BYTES as u64 + 100;

/// Linux's pipe holds its bytes in pages (fs/pipe.c).
pub(crate) const PAGE_BYTES: u32 = 4096;

/// Where the memory of a pipe and its message is when they are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// What it takes more because its memory is not near, ns.
    pub far_ns: u64,
    /// Another CPU used the pipe last.
    pub used_elsewhere: bool,
    /// Another CPU wrote the message that is read.
    pub written_elsewhere: bool,
}

impl Costs {
    /// Nothing takes any time; ticks come every 4 ms (HZ = 250). For schedules worked out by hand.
    pub fn free() -> Self {
        Self { tick_period_ns: 4_000_000, ..Self::default() }
    }

    /// What refilling the caches takes for a working set, ns.
    pub fn refill_ns(&self, working_set_bytes: u64) -> u64 {
        let after = self.refill.partition_point(|(bytes, _)| *bytes <= working_set_bytes);
        match (after.checked_sub(1).map(|place| self.refill[place]), self.refill.get(after)) {
            (None, None) => 0,
            (Some((_, ns)), None) => ns,
            (before, Some((bytes, ns))) => {
                let (from, base) = before.unwrap_or((0, 0));
                let (part, whole) = (i128::from(working_set_bytes - from), i128::from(bytes - from));
                let rise = (i128::from(*ns) - i128::from(base)) * part / whole.max(1);
                (i128::from(base) + rise) as u64
            }
        }
    }

    /// Writing or reading a message of this length, the mean of both, ns.
    pub fn message_ns(&self, socket: bool, bytes: u32) -> u64 {
        let call_ns = if socket { self.socket_ns } else { self.pipe_ns };
        call_ns + u64::from(bytes) * self.byte_ps / 1000
    }

    /// Writing a message of this length, or reading it, without what the pipe's mutex is held for, ns.
    pub(crate) fn call_ns(&self, socket: bool, bytes: u32, reads: bool) -> u64 {
        let more_ns = if socket { self.socket_write_more_ns } else { self.pipe_write_more_ns };
        let mean_ns = self.message_ns(socket, bytes) - self.locked_ns(socket, bytes);
        mean_ns.saturating_add_signed(if reads { -more_ns } else { more_ns })
    }

    /// What a call on a pipe takes more when the message's memory is not near, ns.
    pub(crate) fn far_pipe_ns(&self, reads: bool) -> u64 {
        let more_ns = self.cold_pipe_write_more_ns;
        self.cold_pipe_ns.saturating_add_signed(if reads { -more_ns } else { more_ns })
    }

    /// Free messages of sockets that are near at most.
    pub(crate) fn near_messages(&self) -> usize {
        (self.near_cache_bytes / NEAR_MESSAGE_BYTES) as usize
    }

    /// What a call takes more because of where its memory is, ns.
    pub(crate) fn distant_ns(&self, socket: bool, memory: Memory) -> u64 {
        let [lines_ns, data_ns] = if socket {
            [self.socket_lines_ns, self.socket_data_ns]
        } else {
            [self.pipe_lines_ns, self.pipe_data_ns]
        };
        // What comes from another CPU's cache does not come from memory as well.
        let message_ns = if memory.written_elsewhere { data_ns.max(memory.far_ns) } else { memory.far_ns };
        message_ns + if memory.used_elsewhere { lines_ns } else { 0 }
    }

    /// What of that the pipe's mutex is held for, ns.
    pub(crate) fn locked_ns(&self, socket: bool, bytes: u32) -> u64 {
        let per_mille = if socket { self.socket_locked_per_mille } else { self.pipe_locked_per_mille };
        self.message_ns(socket, bytes) * u64::from(per_mille.min(1_000)) / 1000
    }

    /// What moving to a CPU that far away adds, ns.
    pub fn migration_ns(&self, distance: Distance) -> u64 {
        self.migration_ns[distance as usize]
    }

    /// What a hook takes in a family of scheduling classes, ns.
    #[inline]
    pub fn hook_ns(&self, family: Family, hook: Hook) -> u64 {
        u64::from(self.hook_ns[family as usize][hook as usize])
    }

    /// What instructions of the kernel take, ns.
    pub(crate) fn instructions_ns(&self, instructions: u64) -> u64 {
        (u128::from(instructions) * u128::from(self.instruction_ps) / 1000) as u64
    }
}
