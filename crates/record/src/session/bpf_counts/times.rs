//! Waits and slices of a task that is counted.

use crate::sources::counts::{Classes, TaskCounts};
use std::borrow::Cow;

/// Waits and slices of a task: since it was as `before`, or since it was first seen.
pub(super) fn times<'a>(task: &'a TaskCounts, before: Option<&TaskCounts>) -> [Times<'a>; 2] {
    let seen = &task.seen;
    if seen.is_nothing() {
        return [Times::default(), Times::default()];
    }
    match before.map(|before| &before.seen) {
        Some(last) => [
            Times::since(&seen.waits, seen.wait_max_ns, &last.waits, last.wait_max_ns),
            Times::since(&seen.slices, seen.slice_max_ns, &last.slices, last.slice_max_ns),
        ],
        None => [Times::all(&seen.waits, seen.wait_max_ns), Times::all(&seen.slices, seen.slice_max_ns)],
    }
}

/// Times of a task, and the longest.
#[derive(Default)]
pub(super) struct Times<'a> {
    classes: Option<Cow<'a, Classes>>,
    pub(super) max_ns: Option<u64>,
}

impl<'a> Times<'a> {
    fn all(classes: &'a Classes, max_ns: u64) -> Self {
        let max_ns = classes.rows().next().map(|_| max_ns);
        Self { classes: Some(Cow::Borrowed(classes)), max_ns }
    }

    pub(super) fn quantile_ns(&self, share: f64) -> Option<u64> {
        self.classes.as_ref()?.quantile_ns(share, self.max_ns)
    }

    /// Of those since an earlier moment the longest is known only when it is the longest of all; otherwise its class bounds it.
    fn since(classes: &Classes, max_ns: u64, before: &Classes, max_before_ns: u64) -> Self {
        let classes = classes.since(before);
        let bound_ns = classes.rows().last().map(|(_, to_ns, _)| to_ns.min(max_ns));
        let max_ns = if max_ns > max_before_ns { Some(max_ns) } else { bound_ns };
        Self { classes: Some(Cow::Owned(classes)), max_ns }
    }
}
