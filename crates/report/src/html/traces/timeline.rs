//! A run over time, in at most as many points as a chart has room for.

use swtch_trace::tables::{IntervalRow, Merge};

/// Points of a chart: two pixels each.
const MOST: usize = 400;

/// The run over time, in the whole scope. Where there are more intervals than a chart has room for, neighbours are summed, so that
/// nothing is left out.
pub(super) fn points(intervals: &[IntervalRow]) -> Vec<IntervalRow> {
    let mut rows: Vec<IntervalRow> = intervals.iter().filter(|row| row.cpu.is_none()).cloned().collect();
    rows.sort_by_key(|row| row.at_ns);
    // The last interval ends when the run does; a stub of it would make a rate of a handful of events.
    if let [.., before, last] = &mut rows[..]
        && last.length_ns < before.length_ns / 2
    {
        *before = merged(before, last);
        rows.pop();
    }
    let together = rows.len().div_ceil(MOST).max(1);
    rows.chunks(together)
        .map(|chunk| chunk[1..].iter().fold(chunk[0].clone(), |before, after| merged(&before, after)))
        .collect()
}

/// Two neighbours as one, as the table's columns merge; the length is from the one's beginning to the other's end.
fn merged(before: &IntervalRow, after: &IntervalRow) -> IntervalRow {
    let mut row = before.clone();
    row.merge(after);
    row.length_ns = after.at_ns.saturating_add(after.length_ns).saturating_sub(before.at_ns);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(index: u64) -> IntervalRow {
        IntervalRow {
            at_ns: index * 10,
            length_ns: 10,
            voluntary: Some(1),
            tasks: Some(index),
            wakeups: (index != 3).then_some(2),
            ..IntervalRow::default()
        }
    }

    #[test]
    fn neighbours_are_summed_and_nothing_is_left_out() {
        let rows: Vec<IntervalRow> = (0..1024).map(row).collect();
        let points = points(&rows);
        assert!(points.len() <= MOST && points.len() > MOST / 2);
        assert_eq!(points.iter().filter_map(|point| point.voluntary).sum::<u64>(), 1024);
        assert_eq!(points.iter().map(|point| point.length_ns).sum::<u64>(), 10_240);
        assert_eq!(points[0].tasks, Some(2));
        assert_eq!((points[0].wakeups, points[1].wakeups), (Some(6), None));
    }

    #[test]
    fn a_stub_at_the_end_makes_no_peak() {
        let stub = IntervalRow { length_ns: 1, ..row(1) };
        let points = points(&[row(0), stub]);
        assert_eq!((points.len(), points[0].length_ns, points[0].voluntary), (1, 11, Some(2)));
    }

    #[test]
    fn a_single_processors_counts_are_not_added_to_the_scopes() {
        let rows = [row(0), IntervalRow { cpu: Some(1), ..row(0) }];
        assert_eq!(points(&rows), [row(0)]);
    }
}
