//! Records that the kernel writes of switches, forks, names and ends (perf_event_open(2)): every switch, where BPF is not permitted.
//!
//! For the whole machine, a record names the task that left and the task that came. Single tasks may be watched by an ordinary user. Their records
//! say only that the task left or came, not which task it replaced or was replaced by. Wake-ups are not reported.
//!
//! A task's event is inherited by all that it makes. An inherited event writes into the ring of a CPU only, so a task has one event a CPU.

pub(crate) mod convert;
pub(crate) mod counters;
mod event;
pub(crate) mod mappings;
mod order;
pub(crate) mod record;
mod ring;

use crate::clock::monotonic_ns;
use crate::sources::privileges::Privileges;
use event::{
    Attribute, COMM, COMM_EXEC, CONTEXT_SWITCH, EXCLUDE_KERNEL, EventScope, INHERIT, PerfEvent, READ_LOST,
    SOFTWARE_DUMMY, TASK, TYPE_SOFTWARE,
};
use order::Order;

use record::{Record, What};
use ring::Ring;
use std::io;

/// Why there are no records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PerfError {
    /// The kernel does not let us watch.
    #[error("perf events of {whose} are not permitted here: {source}{}; {}", level(*paranoid), advice(*wide, *paranoid, source))]
    NotPermitted {
        /// Whose events they are.
        whose: String,
        /// They are of more than single tasks.
        wide: bool,
        /// `kernel.perf_event_paranoid`.
        paranoid: Option<i64>,
        /// The system's reason.
        source: io::Error,
    },
    /// The kernel has no such events.
    #[error(
        "this kernel has no perf events of context switches: {0}; it needs CONFIG_PERF_EVENTS, and 4.17 or later"
    )]
    NoEvents(io::Error),
    /// Nothing says which CPUs there are.
    #[error("there is no CPU to watch by perf events; is /sys/devices/system/cpu there?")]
    NoCpus,
    /// Too many tasks on too many CPUs.
    #[error(
        "too many open files for the events of every task on every CPU: {0}; allow more with ulimit -n, or record less"
    )]
    Files(io::Error),
    /// There is no task of that number any more.
    #[error("task {0} has ended")]
    Gone(u32),
    /// Memory for the records could not be mapped.
    #[error("cannot map memory for perf events: {0}; a smaller --buffer needs less")]
    Memory(io::Error),
}

fn level(paranoid: Option<i64>) -> String {
    paranoid.map_or(String::new(), |level| format!(", perf_event_paranoid is {level}"))
}

/// The level refuses with EACCES (kernel/events/core.c, v6.18); EPERM and ENOSYS come from a filter, which no level changes.
fn advice(wide: bool, paranoid: Option<i64>, refusal: &io::Error) -> String {
    let most = if wide { 0 } else { 2 };
    match paranoid {
        Some(level) if level > most && refusal.raw_os_error() == Some(libc::EACCES) => {
            Privileges::read().for_perf(most)
        }
        Some(_) => "it is another user's, or a sandbox (seccomp, a security module) forbids perf_event_open"
            .to_owned(),
        None => "this system has no perf events, or hides them".to_owned(),
    }
}

/// `kernel.perf_event_paranoid`.
fn paranoid() -> Option<i64> {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

fn refused(whose: EventScope, source: io::Error) -> PerfError {
    match (source.raw_os_error(), whose) {
        (Some(libc::EACCES | libc::EPERM | libc::ENOSYS), _) => PerfError::NotPermitted {
            whose: match whose {
                EventScope::Own => "this program and what it starts".to_owned(),
                EventScope::Task(tid) => format!("task {tid}"),
                EventScope::Everyone => "the whole machine".to_owned(),
            },
            wide: whose == EventScope::Everyone,
            paranoid: paranoid(),
            source,
        },
        (Some(libc::ESRCH), EventScope::Task(tid)) => PerfError::Gone(tid),
        (Some(libc::EMFILE | libc::ENFILE), _) => PerfError::Files(source),
        _ => PerfError::NoEvents(source),
    }
}

/// An event whose records report switches, forks, names and ends. The kernel's side is excluded and not looked into.
fn attribute(more_flags: u64, read_format: u64) -> Attribute {
    let flags = EXCLUDE_KERNEL | CONTEXT_SWITCH | COMM | COMM_EXEC | TASK | more_flags;
    Attribute::new(TYPE_SOFTWARE, SOFTWARE_DUMMY, flags, read_format)
}

/// Before 4.17 a record does not say whether the one that left could have gone on.
fn is_new_enough() -> Result<(), PerfError> {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(|byte: char| !byte.is_ascii_digit()).map_while(|part| part.parse().ok());
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (4, 17) {
        return Ok(());
    }
    Err(PerfError::NoEvents(io::Error::other(format!("it is Linux {release}"))))
}

/// Whether the events of tasks may be had: of this program, and of the tasks named.
///
/// # Errors
/// Why not.
pub(crate) fn may_watch_tasks(tids: &[u32]) -> Result<(), PerfError> {
    is_new_enough()?;
    let all = std::iter::once(EventScope::Own).chain(tids.iter().map(|tid| EventScope::Task(*tid)));
    for whose in all {
        PerfEvent::open(&attribute(INHERIT, 0), whose, None).map_err(|source| refused(whose, source))?;
    }
    Ok(())
}

/// Whether the events of everyone may be had.
///
/// # Errors
/// Why not.
pub(crate) fn may_watch_machine() -> Result<(), PerfError> {
    is_new_enough()?;
    let cpu = rustix::thread::sched_getcpu() as u32;
    let opened = PerfEvent::open(&attribute(0, 0), EventScope::Everyone, Some(cpu));
    opened.map(drop).map_err(|source| refused(EventScope::Everyone, source))
}

/// A CPU's ring, and the event that holds it.
struct CpuRing {
    cpu: u32,
    holder: PerfEvent,
    ring: Ring,
    /// As the records say.
    lost: u64,
    malformed: u64,
}

/// Open events and their rings.
pub(crate) struct Perf {
    rings: Vec<CpuRing>,
    /// With the index of the ring that they write to.
    events: Vec<(usize, PerfEvent)>,
    /// The kernel counts the lost records of each event.
    exact_losses: bool,
    bytes_per_ring: usize,
    order: Order,
}

impl Perf {
    /// Maps a ring for each CPU that is on: of `bytes`, or of as many as are permitted. Nothing is watched yet.
    pub(crate) fn new(cpus: impl Iterator<Item = u32>, bytes: usize) -> Result<Self, PerfError> {
        is_new_enough()?;
        let mut holders = Vec::new();
        for cpu in cpus {
            match PerfEvent::open(&attribute(0, 0), EventScope::Own, Some(cpu)) {
                Ok(holder) => holders.push((cpu, holder)),
                // It is off.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(refused(EventScope::Own, error)),
            }
        }
        if holders.is_empty() {
            return Err(PerfError::NoCpus);
        }
        let with_losses = attribute(0, READ_LOST);
        let exact_losses = PerfEvent::open(&with_losses, EventScope::Own, None).is_ok();
        let mut bytes = bytes;
        loop {
            let rings: io::Result<Vec<Ring>> =
                holders.iter().map(|(_, holder)| Ring::new(holder, bytes)).collect();
            match rings {
                Ok(rings) => {
                    let bytes_per_ring = rings.first().map_or(0, Ring::bytes);
                    let rings = holders.into_iter().zip(rings).map(|((cpu, holder), ring)| CpuRing {
                        cpu,
                        holder,
                        ring,
                        lost: 0,
                        malformed: 0,
                    });
                    return Ok(Self {
                        rings: rings.collect(),
                        events: Vec::new(),
                        exact_losses,
                        bytes_per_ring,
                        order: Order::default(),
                    });
                }
                // More than kernel.perf_event_mlock_kb and the limit of locked memory permit.
                Err(_) if bytes > rustix::param::page_size() => bytes /= 2,
                Err(error) => return Err(PerfError::Memory(error)),
            }
        }
    }

    /// Bytes of each CPU's ring.
    pub(crate) fn bytes_per_ring(&self) -> usize {
        self.bytes_per_ring
    }

    /// Watches every CPU, whichever task runs there.
    pub(crate) fn watch_machine(&mut self) -> Result<(), PerfError> {
        self.watch(0, EventScope::Everyone)
    }

    /// Watches the calling thread and all that it makes from now on.
    pub(crate) fn watch_own(&mut self) -> Result<(), PerfError> {
        self.watch(INHERIT, EventScope::Own)
    }

    /// Watches a task and all that it makes from now on. Twice watched, it is seen twice.
    pub(crate) fn watch_task(&mut self, tid: u32) -> Result<(), PerfError> {
        self.watch(INHERIT, EventScope::Task(tid))
    }

    fn watch(&mut self, flags: u64, whose: EventScope) -> Result<(), PerfError> {
        let attribute = attribute(flags, if self.exact_losses { READ_LOST } else { 0 });
        let fail = |source| refused(whose, source);
        let before = self.events.len();
        let opened = || -> Result<Vec<(usize, PerfEvent)>, PerfError> {
            let each = self.rings.iter().enumerate();
            each.map(|(index, one)| {
                let event = PerfEvent::open(&attribute, whose, Some(one.cpu)).map_err(fail)?;
                event.write_to(&one.holder).map_err(fail)?;
                Ok((index, event))
            })
            .collect()
        };
        let opened = with_more_files(opened)?;
        self.events.extend(opened);
        for (_, event) in &self.events[before..] {
            event.enable().map_err(fail)?;
        }
        Ok(())
    }

    /// Ends the watching. What was written can still be drained.
    pub(crate) fn stop(&self) {
        for (_, event) in &self.events {
            // Of a task that has ended, it has too.
            let _ = event.disable();
        }
    }

    /// Moves the records to `out`, CPU by CPU. Returns how full the fullest ring was, from 0 to 1, and before which moment all records have
    /// been given, ns.
    pub(crate) fn drain(&mut self, out: &mut Vec<Record>) -> (f64, u64) {
        let now_ns = monotonic_ns();
        let mut fullest: f64 = 0.0;
        for (ring, one) in self.rings.iter_mut().enumerate() {
            let (lost, order) = (&mut one.lost, &mut self.order);
            let (full, malformed) = one.ring.drain(|record| match record.what {
                What::Lost(records) => *lost += records,
                What::Other => {}
                _ => {
                    order.gave(ring, record.at_ns);
                    out.push(record);
                }
            });
            one.malformed += malformed;
            fullest = fullest.max(full);
        }
        (fullest, self.order.horizon(self.rings.len(), now_ns))
    }

    /// Records that were lost, by CPU: found no place, or made no sense.
    pub(crate) fn lost(&self) -> Vec<(u32, u64)> {
        let mut lost: Vec<(u32, u64)> = self.rings.iter().map(|one| (one.cpu, one.lost)).collect();
        if self.exact_losses {
            // A record in the ring reports losses only when there is room for it again: perhaps never.
            let mut exact = vec![0; self.rings.len()];
            for (index, event) in &self.events {
                exact[*index] += event.read::<2>().map_or(0, |[_, lost]| lost);
            }
            for (row, exact) in lost.iter_mut().zip(exact) {
                row.1 = row.1.max(exact);
            }
        }
        for (row, one) in lost.iter_mut().zip(&self.rings) {
            row.1 += one.malformed;
        }
        lost
    }

    /// As far as the records show it; asking for it costs nothing.
    pub(crate) fn lost_so_far(&self) -> u64 {
        self.rings.iter().map(|one| one.lost + one.malformed).sum()
    }

    /// Memory of the rings.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.rings.len() * (self.bytes_per_ring + rustix::param::page_size())) as u64
    }
}

/// Opens with as many files as the hard limit permits, if the soft one does not suffice. It is set back: the command inherits it.
fn with_more_files<T>(open: impl Fn() -> Result<T, PerfError>) -> Result<T, PerfError> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    match open() {
        Err(PerfError::Files(_)) => {}
        done => return done,
    }
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let done = open();
    let _ = setrlimit(Resource::Nofile, limit);
    done
}
