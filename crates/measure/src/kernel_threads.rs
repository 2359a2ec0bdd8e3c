//! How often the kernel's own threads run beside a task that only computes, and for how long.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use swtch_profile::model::KernelThreads;

/// They are watched for this part of the time limit,
pub(crate) const SHARE: u32 = 6;
/// and no longer than this: four runs in 0.9 s do not tell three a second from seven.
pub(crate) const AT_MOST: Duration = Duration::from_secs(3);

/// `kthreadd`, whose children they all are.
const PARENT: u32 = 2;

/// Computes for a time, and counts what they did beside it; nothing where they cannot be seen.
pub(crate) fn beside_a_busy_task(length: Duration) -> Option<KernelThreads> {
    let proc = Path::new("/proc");
    let before = Counts::now(proc)?;
    let began = Instant::now();
    while began.elapsed() < length {
        std::hint::spin_loop();
    }
    let elapsed = began.elapsed();
    Counts::now(proc)?.since(&before, elapsed)
}

/// How often each has come to a CPU, and how long all that took, ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts(BTreeMap<u32, (u64, u64)>);

impl Counts {
    /// Reads `/proc/PID/schedstat` of every one below `proc`; nothing where they cannot be seen, as in a container.
    fn now(proc: &Path) -> Option<Self> {
        let parent = proc.join(PARENT.to_string());
        if fs::read_to_string(parent.join("comm")).ok()?.trim() != "kthreadd" {
            return None;
        }
        let children = fs::read_to_string(parent.join(format!("task/{PARENT}/children"))).ok()?;
        let counts = children.split_ascii_whitespace().filter_map(|pid| {
            let text = fs::read_to_string(proc.join(pid).join("schedstat")).ok()?;
            let figures: Vec<u64> =
                text.split_ascii_whitespace().map_while(|part| part.parse().ok()).collect();
            let [ran_ns, _, runs] = figures[..] else { return None };
            Some((pid.parse().ok()?, (runs, ran_ns)))
        });
        Some(Self(counts.collect()))
    }

    /// What they did since `earlier`, without those that have ended.
    fn since(&self, earlier: &Self, elapsed: Duration) -> Option<KernelThreads> {
        let (mut runs, mut ran_ns) = (0, 0);
        for (pid, now) in &self.0 {
            let before = earlier.0.get(pid).copied().unwrap_or_default();
            runs += now.0.saturating_sub(before.0);
            ran_ns += now.1.saturating_sub(before.1);
        }
        (runs > 0 && !elapsed.is_zero()).then(|| KernelThreads {
            runs_per_second: runs as f64 / elapsed.as_secs_f64(),
            mean_run_ns: ran_ns as f64 / runs as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(proc: &Path, pid: u32, name: &str, text: &str) {
        let folder = proc.join(pid.to_string()).join(if name == "children" { "task/2" } else { "" });
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), text).unwrap();
    }

    #[test]
    fn runs_and_their_time_are_of_the_threads_that_are_there() {
        let home = tempfile::tempdir().unwrap();
        let proc = home.path();
        assert_eq!(Counts::now(proc), None, "no kthreadd");
        write(proc, 2, "comm", "kthreadd\n");
        write(proc, 2, "children", "3 4 5 ");
        write(proc, 3, "schedstat", "1000 5 10\n");
        write(proc, 4, "schedstat", "2000 5 20\n");
        let before = Counts::now(proc).unwrap();
        write(proc, 3, "schedstat", "4000 5 20\n");
        write(proc, 5, "schedstat", "500 0 1\n");
        write(proc, 2, "children", "3 5 6");
        let found = Counts::now(proc).unwrap().since(&before, Duration::from_secs(2)).unwrap();
        assert!((found.runs_per_second - 5.5).abs() < 1e-9, "{found:?}");
        assert!((found.mean_run_ns - 3500.0 / 11.0).abs() < 1e-9, "{found:?}");
        assert_eq!(before.since(&before, Duration::from_secs(1)), None);
    }

    #[test]
    fn a_container_has_another_process_of_that_number() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), 2, "comm", "sh\n");
        write(home.path(), 2, "children", "3");
        assert_eq!(Counts::now(home.path()), None);
    }
}
