//! The inner loops, one file a method.
//!
//! Nothing in `lead`, `follow` or `baseline` allocates, formats or calls a library. The crate rustix makes the system calls by
//! inline assembly, on the architectures that have it. The condition variable's library calls are what its method measures.

mod condvar;
mod eventfd;
mod futex;
pub(crate) mod messages;
mod pipe;
pub(crate) mod reference;
mod ring;
pub(crate) mod yielding;

use crate::sys;
use crate::traversal::Array;
use condvar::Condvar;
use eventfd::EventfdPair;
use futex::FutexPair;
use pipe::PipePair;
use ring::PipeRing;
use swtch_profile::vocabulary::{Method, Tasks};
use yielding::Yielding;

/// Runs the loop of a method once it is set up.
pub(crate) trait RunLoop {
    /// Tasks that wake each other.
    fn switch<K: SwitchLoop>(self, tasks: &K);
    /// Tasks that yield to each other.
    fn yields(self, tasks: &Yielding);
}

/// Sets up the loop of `method` for `count` tasks of a kind, and runs it.
///
/// # Errors
/// The system's error number, when pipes and the like cannot be made.
pub(crate) fn with_method(method: Method, tasks: Tasks, count: usize, run: impl RunLoop) -> Result<(), i32> {
    match method {
        Method::Pipe => run.switch(&PipePair::new()?),
        Method::Eventfd => run.switch(&EventfdPair::new()?),
        Method::Futex => run.switch(&FutexPair::new(tasks == Tasks::Process)?),
        Method::Condvar => run.switch(&Condvar::new()),
        Method::Ring | Method::PidSumRing => {
            run.switch(&PipeRing::new(count, method == Method::PidSumRing)?);
        }
        Method::Yield => run.yields(&Yielding::new()?),
    }
    Ok(())
}

/// Tasks that hand the CPU to each other: task 0 leads, the others follow.
pub(crate) trait SwitchLoop: Sync {
    /// One round of the leader: wakes the next task, waits for its turn, goes through its array.
    fn lead(&self, array: &Array);

    /// One round of follower `index` (from 1): waits for its turn, goes through its array, wakes the next task.
    fn follow(&self, index: usize, array: &Array);

    /// The baseline: the same system calls and the same traversal by one task, without a switch.
    fn baseline(&self, array: &Array);

    /// Whether what came back is what must have come back; `true` where there is nothing to check.
    fn verified(&self, _pids: &dyn Fn(usize) -> u64) -> bool {
        true
    }
}

/// Which of two tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Leader,
    Follower,
}

/// A way for two tasks to wake each other.
pub(crate) trait Signal: Sync {
    /// Wakes the other side.
    fn send(&self, from: Side);
    /// Waits for the other side.
    fn receive(&self, by: Side);
    /// One send and one receive of one task to itself.
    fn loop_back(&self);
}

/// Holds what is put in until it is taken out; a task that takes from an empty one sleeps.
pub(crate) trait HandOff: Sync + Sized {
    /// An empty one, or the system's error number.
    fn new() -> Result<Self, i32>;
    fn put(&self);
    fn take(&self);
}

/// A channel each way; the baseline puts into a third one and takes from it.
pub(crate) struct HandOffPair<C> {
    follower: C,
    leader: C,
    own: C,
}

impl<C: HandOff> HandOffPair<C> {
    pub(crate) fn new() -> Result<Self, i32> {
        Ok(Self { follower: C::new()?, leader: C::new()?, own: C::new()? })
    }
}

impl<C: HandOff> Signal for HandOffPair<C> {
    #[inline(always)]
    fn send(&self, from: Side) {
        let channel = if from == Side::Leader { &self.follower } else { &self.leader };
        channel.put();
    }

    #[inline(always)]
    fn receive(&self, by: Side) {
        let channel = if by == Side::Leader { &self.leader } else { &self.follower };
        channel.take();
    }

    #[inline(always)]
    fn loop_back(&self) {
        self.own.put();
        self.own.take();
    }
}

/// Two tasks that wake each other in turn.
impl<S: Signal> SwitchLoop for S {
    #[inline(always)]
    fn lead(&self, array: &Array) {
        self.send(Side::Leader);
        self.receive(Side::Leader);
        std::hint::black_box(array.traverse());
    }

    #[inline(always)]
    fn follow(&self, _index: usize, array: &Array) {
        self.receive(Side::Follower);
        std::hint::black_box(array.traverse());
        self.send(Side::Follower);
    }

    #[inline(always)]
    fn baseline(&self, array: &Array) {
        self.loop_back();
        std::hint::black_box(array.traverse());
    }
}

/// A failure of a system call that was just set up correctly. The figures are lost, so the process ends and its parent
/// reports the condition as unavailable.
#[cold]
pub(crate) fn broken() -> ! {
    sys::exit_now(sys::EXIT_BROKEN)
}
