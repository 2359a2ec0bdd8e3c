//! What the machine allows, judged from facts and probes: the rows of `swtch doctor`.
//!
//! Commands within `enable` are in backticks.

mod events;
mod hardware;
mod kernel;
mod limits;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;

/// How far a capability is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing is lost.
    Ok,
    /// There, with a loss that `costs` describes.
    Limited,
    /// Not there.
    Missing,
}

/// One row of `swtch doctor`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capability {
    /// Stable name in kebab case, e.g. `hardware-counters`.
    pub name: String,
    /// How far it is there.
    pub state: State,
    /// What was found, in one line.
    pub finding: String,
    /// What its absence costs the user; absent when nothing is lost.
    pub costs: Option<String>,
    /// The command (or setting) that would enable it, commands in backticks; absent when nothing is lost or nothing helps.
    pub enable: Option<String>,
}

/// The outcome of trying something for real.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Whether it worked.
    pub works: bool,
    /// The error when it did not.
    pub why: Option<String>,
}

/// What was tried for real, because permission bits do not show it (seccomp filters, sandboxes, security modules).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probes {
    /// `sched_setscheduler(SCHED_FIFO)`.
    pub realtime: Probe,
    /// `sched_setaffinity` to one CPU.
    pub pinning: Probe,
    /// A software perf event (context switches) on this process.
    pub perf_events: Probe,
    /// A hardware perf event (instructions) on this process.
    pub hardware_counters: Probe,
    /// The `bpf` system call.
    pub bpf: Probe,
    /// Whether `getrusage` counts switches: some sandboxes report a constant zero.
    pub switch_counts: Probe,
}

/// Judges every capability, in the order in which `swtch doctor` shows them: hardware, kernel, limits, events.
pub fn judge(host: &Host, probes: &Probes) -> Vec<Capability> {
    let rows = [
        ("processors", hardware::processors(host)),
        ("smt", hardware::smt(host)),
        ("caches", hardware::caches(host)),
        ("frequency-governor", hardware::frequency_governor(host)),
        ("virtualisation", hardware::virtualisation(host)),
        ("kernel", kernel::kernel(host)),
        ("mitigations", kernel::mitigations(host)),
        ("page-table-isolation", kernel::page_table_isolation(host)),
        ("sched-ext", kernel::sched_ext(host)),
        ("cpu-limit", limits::cpu_limit(host)),
        ("memory-limit", limits::memory_limit(host)),
        ("pinning", limits::pinning(host, &probes.pinning)),
        ("realtime-class", limits::realtime_class(host, &probes.realtime)),
        ("switch-counts", events::switch_counts(host, &probes.switch_counts)),
        ("perf-events", events::perf_events(host, &probes.perf_events)),
        ("hardware-counters", events::hardware_counters(host, probes)),
        ("bpf", events::bpf(host, &probes.bpf)),
    ];
    rows.map(|(name, row)| Capability { name: name.to_owned(), ..row }).into()
}

/// What gives a container Linux's own kernel instead of gVisor's.
const NOT_GVISOR: &str = "run it under the default runtime: `docker run --runtime=runc`";

impl Capability {
    /// A row where nothing is lost; [`judge`] puts the name in.
    fn ok(finding: impl Into<String>) -> Self {
        let name = String::new();
        Self { name, state: State::Ok, finding: finding.into(), costs: None, enable: None }
    }

    fn limited(finding: impl Into<String>, costs: impl Into<String>) -> Self {
        Self { state: State::Limited, costs: Some(costs.into()), ..Self::ok(finding) }
    }

    fn missing(finding: impl Into<String>, costs: impl Into<String>) -> Self {
        Self { state: State::Missing, ..Self::limited(finding, costs) }
    }

    fn enabled_by(self, enable: impl Into<String>) -> Self {
        self.perhaps_enabled_by(Some(enable))
    }

    /// With nothing, where nothing helps.
    fn perhaps_enabled_by(self, enable: Option<impl Into<String>>) -> Self {
        Self { enable: enable.map(Into::into), ..self }
    }
}

impl Probe {
    /// Why it failed, for a sentence.
    fn reason(&self) -> &str {
        self.why.as_deref().unwrap_or("it failed without a reason")
    }
}

/// Numbers of bits in `CapEff` (include/uapi/linux/capability.h, Linux 6.18).
#[derive(Clone, Copy)]
enum Privilege {
    SysAdmin = 21,
    SysNice = 23,
    Perfmon = 38,
    Bpf = 39,
}

fn has(host: &Host, privilege: Privilege) -> bool {
    host.limits.effective_capabilities >> (privilege as u32) & 1 == 1
}

/// The runtimes whose containers are started with `docker run` or a command with the same options.
fn container_command(host: &Host) -> Option<&str> {
    host.virtualisation.container.as_deref().filter(|name| matches!(*name, "docker" | "podman"))
}
