//! Tries for real what permission bits do not show: seccomp filters, sandboxes and security modules say no behind them.

use crate::condition::{Condition, Work};
use crate::launch::{Size, launch};
use crate::perf::{Counter, Event};
use crate::sys::{self, Mask};
use crate::traversal::Pattern;
use std::mem;
use swtch_profile::vocabulary::{Class, Method, Tasks};
use swtch_topology::Placement;
use swtch_topology::capability::{Probe, Probes};

/// Everything that is probed, each without a trace left behind.
pub fn probe() -> Probes {
    Probes {
        realtime: on_own_thread(realtime),
        pinning: on_own_thread(pinning),
        perf_events: probed(perf_event(Event::CONTEXT_SWITCHES)),
        hardware_counters: probed(perf_event(Event::INSTRUCTIONS)),
        bpf: probed(bpf()),
        switch_counts: probed(switch_counts()),
    }
}

/// Nothing, or why it does not work.
type Tried = Result<(), String>;

fn probed(tried: Tried) -> Probe {
    Probe { works: tried.is_ok(), why: tried.err() }
}

/// With the name of the call that failed.
fn named<T>(what: &str, result: Result<T, i32>) -> Result<T, String> {
    result.map_err(|error| format!("{what}: {}", sys::error_text(error)))
}

/// A thread's class and affinity end with it, so a probe on a thread of its own changes nothing for the caller.
fn on_own_thread(probe: fn() -> Tried) -> Probe {
    let thread = std::thread::Builder::new().spawn(probe).ok().and_then(|thread| thread.join().ok());
    probed(thread.unwrap_or_else(|| Err("no thread could be started".to_owned())))
}

fn realtime() -> Tried {
    let result = sys::become_fifo();
    sys::become_normal();
    named("sched_setscheduler(SCHED_FIFO)", result)
}

fn pinning() -> Tried {
    let result = Mask::current().and_then(|mask| match mask.cpus().next() {
        Some(cpu) => Mask::one(cpu).apply(),
        None => Err(libc::ENODEV),
    });
    named("sched_setaffinity", result)
}

fn perf_event(event: Event) -> Tried {
    named("perf_event_open", Counter::of_this_thread(event).map(drop))
}

/// `BPF_MAP_CREATE` and the array type (include/uapi/linux/bpf.h, Linux 6.18).
const BPF_MAP_CREATE: i32 = 0;
const BPF_MAP_TYPE_ARRAY: u32 = 2;

#[repr(C)]
#[derive(Default)]
struct BpfMapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    rest: [u64; 4],
}

fn bpf() -> Tried {
    let map = BpfMapCreate {
        map_type: BPF_MAP_TYPE_ARRAY,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        rest: [0; 4],
    };
    // SAFETY: the kernel reads the structure's size; the map goes with its file descriptor.
    let fd = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_MAP_CREATE, &raw const map, mem::size_of::<BpfMapCreate>())
    };
    closed("bpf(BPF_MAP_CREATE)", fd)
}

/// Closes the file descriptor that a call returned, if it did.
fn closed(call: &str, fd: libc::c_long) -> Tried {
    let fd = named(call, if fd < 0 { Err(sys::errno()) } else { Ok(fd as i32) })?;
    // SAFETY: the descriptor was just made, and no other code has it.
    unsafe { libc::close(fd) };
    Ok(())
}

/// Makes switches and looks whether `getrusage` noticed: some sandboxes report a constant zero.
fn switch_counts() -> Tried {
    let condition = Condition {
        work: Work::Switch { method: Method::Pipe, tasks: Tasks::Process, count: 2, pattern: Pattern::NONE },
        placement: Placement::Unpinned,
        cpus: Vec::new(),
        class: Class::Normal,
    };
    let size = Size { batches: 1, rounds: 100, warm_up_rounds: 1, guard_s: 20 };
    let (clock, _) = crate::clock::Clock::fallback(String::new());
    let batches = launch(&condition, size, clock, &mut || false).map_err(|error| error.to_string())?;
    match batches.first() {
        Some(batch) if batch.switches_per_round() > 0.1 => Ok(()),
        _ => Err("getrusage reports no switches although 200 were made: the counter is a constant zero here"
            .to_owned()),
    }
}
