//! The sink that the engine reports to, event by event.

/// Takes the events of a run in the order of time. A sink that wants none costs nothing. Tasks and CPUs are places in the tables.
pub trait Sink {
    /// A CPU goes from one task to another; `None` is the idle task.
    fn switch(&mut self, _event: SwitchEvent) {}

    /// A task was woken.
    fn wake(&mut self, _event: WakeEvent) {}

    /// A task was made, by another one or by the workload.
    fn fork(&mut self, _at_ns: u64, _parent: Option<usize>, _child: usize) {}

    /// A task ended.
    fn exit(&mut self, _at_ns: u64, _task: usize) {}

    /// Called every 65,536 events. `false` stops the run.
    fn goes_on(&mut self, _now_ns: u64, _events: u64) -> bool {
        true
    }
}

/// A context switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchEvent {
    /// When, ns.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: usize,
    /// The task that leaves the CPU; `None`: the idle task.
    pub prev: Option<usize>,
    /// The task that gets the CPU; `None`: the idle task.
    pub next: Option<usize>,
    /// Whether the task that leaves is still runnable.
    pub prev_runnable: bool,
    /// Whether a quota stopped it: it is runnable, and may not run.
    pub prev_throttled: bool,
    /// What the switch itself took, ns; the scheduling class's hooks and waiting for locks are not counted.
    pub cost_ns: u64,
}

/// A wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeEvent {
    /// When, ns.
    pub at_ns: u64,
    /// The task that made the wake-up; `None`: a timer.
    pub waker: Option<usize>,
    /// The task that was woken.
    pub wakee: usize,
    /// The CPU it was put on.
    pub cpu: usize,
    /// When its sleep was to end, ns; none where another task woke it.
    pub due_ns: Option<u64>,
}

/// Wants nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Sink for Nothing {}

/// Any sink. The engine is compiled once for each kind of sink and policy, so all runs of a program go through this one.
pub(crate) struct Any<'a>(pub(crate) &'a mut dyn Sink);

impl Sink for Any<'_> {
    fn switch(&mut self, event: SwitchEvent) {
        self.0.switch(event);
    }

    fn wake(&mut self, event: WakeEvent) {
        self.0.wake(event);
    }

    fn fork(&mut self, at_ns: u64, parent: Option<usize>, child: usize) {
        self.0.fork(at_ns, parent, child);
    }

    fn exit(&mut self, at_ns: u64, task: usize) {
        self.0.exit(at_ns, task);
    }

    fn goes_on(&mut self, now_ns: u64, events: u64) -> bool {
        self.0.goes_on(now_ns, events)
    }
}
