//! Settings of the scheduler that a command begins with: made in its process, between fork and exec, so that nothing is left behind.

use std::io;
use std::mem::{size_of, zeroed};
use swtch_trace::tables::SchedPolicy;

/// What a command begins with; what is absent is inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// The CPUs that it may use.
    pub cpus: Option<Vec<u32>>,
    /// The policy, and the real-time priority.
    pub policy: Option<(SchedPolicy, u32)>,
    /// The slice of an ordinary policy, ns; Linux 6.12 or later.
    pub slice_ns: Option<u64>,
}

/// `struct sched_attr` (include/uapi/linux/sched/types.h, v6.18), its first version.
#[repr(C)]
#[derive(Clone, Copy)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The same, ready for the system calls: nothing is allocated after fork.
#[derive(Clone, Copy)]
pub(crate) struct PreparedScheduling {
    cpus: Option<libc::cpu_set_t>,
    attributes: Option<SchedAttr>,
}

impl Scheduling {
    pub(crate) fn prepare(&self) -> PreparedScheduling {
        let cpus = self.cpus.as_ref().map(|cpus| {
            // SAFETY: all zeros are the empty set.
            let mut set: libc::cpu_set_t = unsafe { zeroed() };
            for cpu in cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < libc::CPU_SETSIZE as usize) {
                // SAFETY: it is within the set.
                unsafe { libc::CPU_SET(cpu, &mut set) };
            }
            set
        });
        // Else the nice value would become 0.
        // SAFETY: it only reads.
        let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let (policy, priority) = self.policy.unwrap_or((SchedPolicy::Other, 0));
        let attributes = (self.policy.is_some() || self.slice_ns.is_some()).then(|| SchedAttr {
            size: size_of::<SchedAttr>() as u32,
            policy: policy.facts(),
            flags: 0,
            nice,
            priority,
            runtime: self.slice_ns.unwrap_or(0),
            deadline: 0,
            period: 0,
        });
        PreparedScheduling { cpus, attributes }
    }
}

impl PreparedScheduling {
    /// Makes the settings of the calling process: two system calls and nothing else.
    pub(crate) fn apply(&self) -> io::Result<()> {
        if let Some(set) = &self.cpus {
            // SAFETY: a set of the size that is given.
            if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        if let Some(attributes) = &self.attributes {
            // SAFETY: the structure says how large it is.
            if unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *attributes, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}
