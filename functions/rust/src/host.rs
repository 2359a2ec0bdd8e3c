//! What the function runs on and what the kernel counts, from files that need no privilege.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// CPUs that the caller may run on.
pub fn cpus_allowed() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect()
}

/// Puts the calling thread on these CPUs.
pub fn pin(cpus: &[usize]) -> nix::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().try_for_each(|cpu| set.set(*cpu))?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

/// Of this process: voluntary and involuntary switches, CPU time in ns, and the largest resident set in bytes.
pub fn usage() -> [i64; 4] {
    let Ok(used) = getrusage(UsageWho::RUSAGE_SELF) else { return [0; 4] };
    let ns = [used.user_time(), used.system_time()].map(|time| time.tv_sec() * 1_000_000_000 + time.tv_usec() * 1000);
    [used.voluntary_context_switches(), used.involuntary_context_switches(), ns[0] + ns[1], used.max_rss() * 1024]
}

/// `host` of the document.
pub fn describe(platform: &str, unavailable: &mut Vec<Value>) -> Value {
    let cpuinfo = text("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(": ")?.1));
    unavailable.push(json!({ "what": "host.memory_limit_bytes", "why": "the handler in Rust does not read it" }));
    let online = text("/proc/stat").matches("\ncpu").count();
    let firecracker = platform == "lambda" || text("/proc/cmdline").contains("virtio_mmio.device=");
    let gvisor = text("/proc/version").contains("gVisor");
    json!({
        "architecture": std::env::consts::ARCH, "kernel_release": text("/proc/sys/kernel/osrelease").trim(), "cpu_model": model,
        "cpus_online": online.max(1), "cpus_allowed": cpus_allowed().len().max(1), "memory_limit_bytes": null,
        "sandbox": if gvisor { Some("gvisor") } else { firecracker.then_some("firecracker") },
    })
}

/// `throttling.platform`: the numbers of the innermost cgroup with a quota, the difference to an earlier reading.
pub fn quota(before: &Value) -> Value {
    let found: Vec<Value> = groups().iter().filter_map(|group| of_group(group)).collect();
    let limited = found.iter().find(|group| !group["quota_ns"].is_null());
    let Some(mut found) = limited.or(found.first()).cloned() else { return Value::Null };
    for name in ["periods", "periods_throttled", "throttled_ns"] {
        found[name] = json!(found[name].as_i64().map(|now| (now - before[name].as_i64().unwrap_or(0)).max(0)));
    }
    found
}

fn of_group(directory: &Path) -> Option<Value> {
    let read = |file: &str, field: usize| whole(text(directory.join(file)).split_whitespace().nth(field)?);
    let (version, quota, period, throttled, unit) = match read("cpu.cfs_period_us", 0) {
        Some(period) => (1, read("cpu.cfs_quota_us", 0), period, "throttled_time", 1),
        None => (2, read("cpu.max", 0), read("cpu.max", 1)?, "throttled_usec", 1000),
    };
    let stat = text(directory.join("cpu.stat"));
    let counter = |name: &str| stat.lines().find_map(|line| whole(line.strip_prefix(name)?.strip_prefix(' ')?));
    Some(json!({
        "version": version, "period_ns": period * 1000, "quota_ns": quota.map(|us| us * 1000), "periods": counter("nr_periods"),
        "periods_throttled": counter("nr_throttled"), "throttled_ns": counter(throttled).map(|time| time * unit),
        "source": directory.join("cpu.stat"),
    }))
}

/// Directories of this process's cgroup and those above it, innermost first: of the cpu controller of version 1, else of version 2. A
/// container sees its own group as the mount.
fn groups() -> Vec<PathBuf> {
    let own = text("/proc/self/cgroup");
    let of = |is: fn(&str) -> bool| own.lines().find_map(|line| line.split_once(':')?.1.split_once(':').filter(|parts| is(parts.0)));
    let version_1 = of(|controllers| controllers.split(',').any(|one| one == "cpu"));
    let Some((controllers, inner)) = version_1.or_else(|| of(str::is_empty)) else { return Vec::new() };
    let mount = Path::new("/sys/fs/cgroup").join(if controllers.is_empty() { "" } else { "cpu" });
    let inner = mount.join(inner.trim_start_matches('/'));
    inner.ancestors().take_while(|path| path.starts_with(&mount)).map(Path::to_owned).collect()
}

/// Of a file; nothing where it cannot be read.
pub fn text(path: impl AsRef<Path>) -> String {
    read_to_string(path).unwrap_or_default()
}

fn whole(text: &str) -> Option<i64> {
    text.trim().parse().ok().filter(|value| *value >= 0)
}
