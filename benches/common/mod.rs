//! What the benchmarks have in common.
#![allow(missing_docs, unreachable_pub)]

/// The last CPU this process may use: the one that `same-cpu` takes on a machine with one kind of core.
pub fn last_allowed_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0");
    list.trim().rsplit([',', '-']).next().unwrap_or("0").to_owned()
}
