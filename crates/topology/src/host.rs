//! The facts as data. Every field that a machine may not offer is an `Option`: absent means "the machine does not say",
//! never zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known about one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Instruction set architecture as `uname -m` names it.
    pub architecture: String,
    /// CPU model as the machine names it.
    pub cpu_model: Option<String>,
    /// The CPUs that are present, by number.
    pub cpus: Vec<Cpu>,
    /// The caches, level 1 first; one entry for each physical cache.
    pub caches: Vec<Cache>,
    /// The NUMA nodes.
    pub numa_nodes: Vec<NumaNode>,
    /// Main memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The driver that sets the CPUs' frequency.
    pub frequency: Frequency,
    /// What stands between this system and the hardware.
    pub virtualisation: Virtualisation,
    /// The kernel and how it is set.
    pub kernel: Kernel,
    /// What this process may use of the machine.
    pub limits: Limits,
}

/// What QEMU names the CPUs whose instructions it executes itself (`max_x86_cpu_initfn` in target/i386/cpu.c, QEMU 7.2).
pub(crate) const EMULATED_MODEL: &str = "QEMU TCG CPU";

impl Host {
    /// Whether software executes the instructions. The caches that such a machine reports do not exist: no access is faster than another.
    ///
    /// ```
    /// let mut host = swtch_topology::Host::default();
    /// assert!(!host.is_emulated());
    /// host.cpu_model = Some("QEMU TCG CPU version 2.5+".to_owned());
    /// assert!(host.is_emulated());
    /// ```
    pub fn is_emulated(&self) -> bool {
        self.cpu_model.as_deref().is_some_and(|model| model.starts_with(EMULATED_MODEL))
    }
}

/// One logical CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// The kernel's number.
    pub id: u32,
    /// Whether it is switched on.
    pub online: bool,
    /// Number of its core within the package.
    pub core: Option<u32>,
    /// Number of its package (socket).
    pub package: Option<u32>,
    /// Number of its die.
    pub die: Option<u32>,
    /// CPUs on the same core, this one among them.
    pub smt_siblings: Vec<u32>,
    /// Its NUMA node.
    pub numa_node: Option<u32>,
    /// Relative capacity, 1024 for the fastest (`cpu_capacity`).
    pub capacity: Option<u32>,
    /// Highest frequency in kHz (`cpuinfo_max_freq`).
    pub max_frequency_khz: Option<u64>,
    /// Which kind of core it is, on machines with several.
    pub kind: CoreKind,
}

/// The kind of a core on a machine with several kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CoreKind {
    /// All cores are alike, or the machine does not say.
    #[default]
    Uniform,
    /// A faster (P, big) core.
    Performance,
    /// A slower (E, little) core.
    Efficiency,
}

/// One physical cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// 1 is nearest the core.
    pub level: u32,
    /// What it holds.
    pub kind: CacheKind,
    /// Capacity in bytes.
    pub bytes: u64,
    /// Length of a line in bytes.
    pub line_bytes: Option<u32>,
    /// Ways of associativity.
    pub ways: Option<u32>,
    /// CPUs that share it.
    pub shared_by: Vec<u32>,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// One NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumaNode {
    /// The kernel's number.
    pub id: u32,
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// Its memory in bytes.
    pub memory_bytes: Option<u64>,
}

/// The driver that sets the frequency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Frequency {
    /// cpufreq driver.
    pub driver: Option<String>,
    /// cpufreq governor of the first CPU.
    pub governor: Option<String>,
    /// Whether boost (turbo) is on.
    pub boost: Option<bool>,
}

/// What stands between this system and the hardware.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Virtualisation {
    /// Hypervisor as `systemd-detect-virt` names it, e.g. `kvm`, or `unknown` when there is one without a name; absent on
    /// bare metal.
    pub hypervisor: Option<String>,
    /// Container runtime, e.g. `docker`; absent outside one.
    pub container: Option<String>,
    /// Whether the kernel is gVisor's, which imitates Linux.
    pub gvisor: bool,
}

/// The kernel and how it is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// `none`, `voluntary`, `lazy`, `full` or `rt`.
    pub preemption: Option<String>,
    /// Where `preemption` was read, or, when it is absent, why it is not known.
    pub preemption_source: Option<String>,
    /// Whether user and kernel page tables are apart (Meltdown mitigation); a switch then costs more.
    pub page_table_isolation: Option<bool>,
    /// Known weaknesses of the CPU and what is done about each.
    pub mitigations: Vec<Mitigation>,
    /// Whether the kernel was built with sched_ext.
    pub sched_ext: Option<bool>,
    /// The sched_ext scheduler that is loaded now.
    pub sched_ext_loaded: Option<String>,
    /// Whether the kernel describes its types (BTF).
    pub btf: bool,
    /// Whether the kernel has a driver for the CPUs' performance counters; absent where it does not list its event sources.
    pub hardware_counters: Option<bool>,
}

impl Kernel {
    /// The first two numbers of the release.
    ///
    /// ```
    /// let kernel = swtch_topology::host::Kernel { release: "6.18.0-rc1".to_owned(), ..Default::default() };
    /// assert_eq!(kernel.major_minor(), Some((6, 18)));
    /// ```
    pub fn major_minor(&self) -> Option<(u32, u32)> {
        major_minor(&self.release)
    }
}

/// The first two numbers of a release such as `6.18.0-rc1`.
pub(crate) fn major_minor(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// One weakness and what is done about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mitigation {
    /// File name under `/sys/devices/system/cpu/vulnerabilities`.
    pub name: String,
    /// What the kernel says of it.
    pub state: String,
}

/// What this process may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// CPUs this process may run on: its affinity (which the cpuset bounds), without those that are off.
    pub allowed_cpus: Vec<u32>,
    /// The tightest CPU quota of its cgroups.
    pub cpu_quota: Option<CpuQuota>,
    /// The tightest memory limit of its cgroups, in bytes.
    pub memory_limit_bytes: Option<u64>,
    /// Memory that can be taken without swapping, in bytes. It is what the machine has available (`MemAvailable`) or
    /// what the cgroups leave of their limits, whichever is less.
    pub available_memory_bytes: Option<u64>,
    /// Versions of the cgroups that are mounted: 1, 2.
    pub cgroup_versions: Vec<u32>,
    /// Effective user id.
    pub effective_uid: u32,
    /// Effective capabilities, one bit each (`CapEff`).
    pub effective_capabilities: u64,
    /// Highest real-time priority the limits grant (the soft `RLIMIT_RTPRIO`); `u64::MAX` means no limit.
    pub realtime_priority_limit: Option<u64>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i64>,
    /// `kernel.unprivileged_bpf_disabled`.
    pub unprivileged_bpf_disabled: Option<i64>,
    /// `kernel.sched_rt_runtime_us`; -1 means no limit.
    pub sched_rt_runtime_us: Option<i64>,
}

/// A CPU quota: so much time in every period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuQuota {
    /// Running time allowed in a period, µs.
    pub quota_us: u64,
    /// Length of the period, µs.
    pub period_us: u64,
    /// Version of the cgroup that sets it.
    pub cgroup_version: u32,
    /// Directory of that cgroup, e.g. `/sys/fs/cgroup/app.slice`.
    pub path: String,
}

impl CpuQuota {
    /// The quota in CPUs: 0.1 is a tenth of one.
    pub fn cpus(&self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }
}
