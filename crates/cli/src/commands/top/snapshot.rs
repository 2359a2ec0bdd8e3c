//! From what was recorded to what is shown.

use std::time::{SystemTime, UNIX_EPOCH};
use swtch_record::live;
use swtch_report::terminal::top::Snapshot;

/// A snapshot, with the time of day.
pub(super) fn snapshot(recorded: live::Snapshot) -> Snapshot {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    let live::Snapshot { at_ns, header, tables } = recorded;
    Snapshot {
        at_ns,
        unix_ns: unix.map_or(0, |since| since.as_nanos() as u64),
        header,
        tasks: tables.tasks,
        cpus: tables.cpus,
        wakes: tables.wakes,
        preemptions: tables.preemptions,
    }
}

/// The time of day, which is the same wherever the machine stands.
pub(super) fn clock(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_of_the_day() {
        assert_eq!(clock(86_400_000_000_000 * 3 + 3_723_000_000_000), "01:02:03 UTC");
    }
}
