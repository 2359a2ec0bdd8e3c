//! Waits until the kernel has finished what it began while it booted.
//!
//! A kernel still works when it starts its first process: Debian's tests its own ciphers (`cryptomgr_test`) for half a second or more, on every CPU.
//! Where instructions are counted, all CPUs share one clock, so each of these instructions counts as time of the command. A program that began at once
//! took 0.138 s of virtual time where it takes 0.030 s.

use std::fs;
use std::thread;
use std::time::Duration;

/// How long the CPUs must be idle in a row. `/proc/stat` counts hundredths of a second, so a shorter time would be too coarse.
const WINDOW: Duration = Duration::from_millis(400);
/// The share of the CPUs' time that ticks, timers and the heartbeat of the first process may take.
const MOST_BUSY_PERCENT: u64 = 5;
/// In the guest's time. A kernel that is busy for longer than this does not become idle.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until the CPUs are idle. Returns the percentage of their time in which they were busy at last, where they did not become idle.
pub(super) fn settle() -> Option<u64> {
    let mut waited = Duration::ZERO;
    let mut before = Ticks::read()?;
    loop {
        thread::sleep(WINDOW);
        waited += WINDOW;
        let now = Ticks::read()?;
        let busy_percent = now.busy_percent_since(before);
        if busy_percent <= MOST_BUSY_PERCENT {
            return None;
        }
        if waited >= PATIENCE {
            return Some(busy_percent);
        }
        before = now;
    }
}

/// What all CPUs have done since the guest booted, in the kernel's hundredths of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    idle: u64,
    busy: u64,
}

impl Ticks {
    fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// From the line of all CPUs: user, nice, system, idle, iowait, irq, softirq, steal; the guests' time after these is part of user.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<u64> =
            line.split_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
        let idle = fields.get(3)? + fields.get(4)?;
        Some(Self { idle, busy: fields.iter().sum::<u64>() - idle })
    }

    fn busy_percent_since(self, before: Self) -> u64 {
        let busy = self.busy.saturating_sub(before.busy);
        let all = busy + self.idle.saturating_sub(before.idle);
        // No tick at all: the CPUs slept so deeply that nothing was accounted yet.
        (100 * busy).checked_div(all).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_time_that_was_busy_is_of_all_cpus() {
        let before = Ticks::parse("cpu  0 0 335 230 0 0 69 0 0 0\ncpu0 0 0 126 66 0 0 15 0 0 0\n").unwrap();
        assert_eq!(before, Ticks { idle: 230, busy: 404 });
        let quiet = Ticks::parse("cpu  1 0 336 378 10 0 69 0 0 0\n").unwrap();
        assert_eq!(quiet.busy_percent_since(before), 1);
        let testing = Ticks::parse("cpu  32 0 417 239 0 0 107 0 0 0\n").unwrap();
        assert_eq!(testing.busy_percent_since(before), 94);
        assert_eq!(before.busy_percent_since(before), 0);
        assert_eq!(Ticks::parse("cpu0 1 2 3\n"), None);
    }
}
