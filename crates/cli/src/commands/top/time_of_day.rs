//! The time of day, as the screen shows it.

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
