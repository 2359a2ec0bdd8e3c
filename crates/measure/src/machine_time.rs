//! What the kernel says was taken from the run: stolen by the hypervisor, throttled by a quota. Counters of whole runs, in
//! ticks too coarse for a batch.

use std::fs;

/// Counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    steal_ticks: Option<u64>,
    all_ticks: u64,
    throttled_ns: Option<u64>,
}

impl Taken {
    /// Reads `/proc/stat` for `cpus` (all when empty) and the throttling of this process's cgroup.
    pub(crate) fn now(cpus: &[u32]) -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let (steal_ticks, all_ticks) = steal(&stat, cpus);
        Self { steal_ticks, all_ticks, throttled_ns: throttled_ns() }
    }

    /// Share of the time since `earlier` that the hypervisor gave to others; absent where it is not counted.
    pub(crate) fn steal_share_since(self, earlier: Self) -> Option<f64> {
        let stolen = self.steal_ticks?.checked_sub(earlier.steal_ticks?)?;
        let all = self.all_ticks.checked_sub(earlier.all_ticks).filter(|all| *all > 0)?;
        Some(stolen as f64 / all as f64)
    }

    /// Time since `earlier` that the cgroup was throttled.
    pub(crate) fn throttled_ns_since(self, earlier: Self) -> Option<u64> {
        self.throttled_ns?.checked_sub(earlier.throttled_ns?)
    }
}

/// Steal and all ticks of the lines `cpuN`. A kernel that has counted no steal since it started may not count it at all. That
/// cannot be told apart from none, so the figure is absent and never zero.
fn steal(stat: &str, cpus: &[u32]) -> (Option<u64>, u64) {
    let mut sum = (0, 0);
    let mut ever = 0;
    for line in stat.lines() {
        let mut fields = line.split_ascii_whitespace();
        let Some(cpu) = fields.next().and_then(|name| name.strip_prefix("cpu")) else { continue };
        let Ok(cpu) = cpu.parse::<u32>() else { continue };
        let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        let stolen = ticks.get(7).copied().unwrap_or(0);
        ever += stolen;
        if cpus.is_empty() || cpus.contains(&cpu) {
            sum = (sum.0 + stolen, sum.1 + ticks.iter().take(8).sum::<u64>());
        }
    }
    ((ever > 0).then_some(sum.0), sum.1)
}

/// `throttled_time` (v1, ns) or `throttled_usec` (v2) of this process's cgroup.
fn throttled_ns() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let roots: &[&str] = if controllers.split(',').any(|name| name == "cpu") {
            &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
        } else if controllers.is_empty() {
            &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        } else {
            continue;
        };
        for root in roots {
            let found = fs::read_to_string(format!("{root}{path}/cpu.stat")).ok();
            if let Some(ns) = found.as_deref().and_then(throttled_in) {
                return Some(ns);
            }
        }
    }
    None
}

fn throttled_in(cpu_stat: &str) -> Option<u64> {
    cpu_stat.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "throttled_time" => Some(value),
            "throttled_usec" => Some(value * 1000),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "cpu  10 0 10 100 0 0 0 7 0 0\ncpu0 5 0 5 50 0 0 0 3 0 0\ncpu1 5 0 5 50 0 0 0 4 0 0\nctxt 9\n";

    #[test]
    fn steal_is_that_of_the_processors_used() {
        assert_eq!(steal(STAT, &[1]), (Some(4), 64));
        assert_eq!(steal(STAT, &[]), (Some(7), 127));
    }

    #[test]
    fn a_constant_zero_is_unavailable() {
        assert_eq!(steal("cpu0 5 0 5 50 0 0 0 0 0 0\n", &[0]), (None, 60));
        assert_eq!(steal("", &[]), (None, 0));
    }

    #[test]
    fn throttling_is_read_in_both_versions() {
        assert_eq!(throttled_in("nr_periods 3\nnr_throttled 2\nthrottled_time 1500\n"), Some(1500));
        assert_eq!(throttled_in("usage_usec 1\nthrottled_usec 15\n"), Some(15_000));
        assert_eq!(throttled_in("usage_usec 1\n"), None);
    }
}
