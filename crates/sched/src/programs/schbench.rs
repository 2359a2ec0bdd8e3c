//! The protocol of schbench (Chris Mason, git.kernel.org/pub/scm/linux/kernel/git/mason/schbench.git).
//!
//! A worker tells its message thread that it is free, and waits. The message thread wakes every worker that waits. The time from there until the worker runs is a
//! wake-up. Then the worker serves a request: it sleeps for a moment, as for the network, and computes. Report and names of figures are those of schbench, so
//! that what reads its output reads this one. Threads wait in futexes, as there (`std::thread::park`).

use super::{at, compute, micros};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a request sleeps before it computes.
const NETWORK: Duration = Duration::from_micros(100);

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schbench {
    /// Message threads.
    pub message_threads: usize,
    /// Workers of each.
    pub workers: usize,
    /// Requests of each worker.
    pub requests: usize,
    /// Work of a request, µs where an instruction takes a nanosecond.
    pub work_us: u64,
}

/// What a message thread and its workers share.
struct Group {
    /// The workers that wait to be woken.
    free: Mutex<Vec<usize>>,
    workers: Vec<Worker>,
    left: AtomicUsize,
}

struct Worker {
    /// When it was woken, ns since the start.
    woken_ns: AtomicU64,
    is_woken: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

/// What a worker saw.
#[derive(Default)]
struct Seen {
    wakeups_us: Vec<f64>,
    requests_us: Vec<f64>,
}

impl Schbench {
    /// Runs it, and gives its report.
    pub fn run(self) -> String {
        let began = Instant::now();
        let mut seen = Seen::default();
        thread::scope(|scope| {
            let groups: Vec<_> =
                (0..self.message_threads).map(|_| scope.spawn(move || self.message_thread(began))).collect();
            for group in groups {
                for one in group.join().unwrap_or_default() {
                    seen.wakeups_us.extend(one.wakeups_us);
                    seen.requests_us.extend(one.requests_us);
                }
            }
        });
        report(&seen, began.elapsed())
    }

    /// Wakes the workers that wait, until all have ended.
    fn message_thread(self, began: Instant) -> Vec<Seen> {
        let worker = || Worker {
            woken_ns: AtomicU64::new(0),
            is_woken: AtomicBool::new(false),
            thread: Mutex::new(None),
        };
        let group = Group {
            free: Mutex::new(Vec::new()),
            workers: (0..self.workers).map(|_| worker()).collect(),
            left: AtomicUsize::new(self.workers),
        };
        let messages = thread::current();
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.workers)
                .map(|place| {
                    let (group, messages) = (&group, messages.clone());
                    scope.spawn(move || self.worker(group, place, &messages, began))
                })
                .collect();
            while group.left.load(Ordering::Acquire) > 0 {
                let free = std::mem::take(&mut *group.free.lock().unwrap_or_else(PoisonError::into_inner));
                for place in &free {
                    wake(&group.workers[*place], began);
                }
                if free.is_empty() {
                    thread::park();
                }
            }
            workers.into_iter().map(|worker| worker.join().unwrap_or_default()).collect()
        })
    }

    fn worker(self, group: &Group, place: usize, messages: &Thread, began: Instant) -> Seen {
        let own = &group.workers[place];
        *own.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
        let mut seen = Seen::default();
        for _ in 0..self.requests {
            own.is_woken.store(false, Ordering::Release);
            group.free.lock().unwrap_or_else(PoisonError::into_inner).push(place);
            messages.unpark();
            while !own.is_woken.load(Ordering::Acquire) {
                thread::park();
            }
            let now = began.elapsed();
            seen.wakeups_us
                .push(micros(now.saturating_sub(Duration::from_nanos(own.woken_ns.load(Ordering::Acquire)))));
            thread::sleep(NETWORK);
            compute(self.work_us);
            seen.requests_us.push(micros(began.elapsed().saturating_sub(now)));
        }
        group.left.fetch_sub(1, Ordering::AcqRel);
        messages.unpark();
        seen
    }
}

fn wake(worker: &Worker, began: Instant) {
    worker.woken_ns.store(began.elapsed().as_nanos() as u64, Ordering::Release);
    worker.is_woken.store(true, Ordering::Release);
    if let Some(thread) = &*worker.thread.lock().unwrap_or_else(PoisonError::into_inner) {
        thread.unpark();
    }
}

fn report(seen: &Seen, took: Duration) -> String {
    let mut text = String::new();
    for (name, times) in [("Wakeup", &seen.wakeups_us), ("Request", &seen.requests_us)] {
        let count = times.len();
        let seconds = took.as_secs();
        let _ = writeln!(
            text,
            "{name} Latencies percentiles (usec) runtime {seconds} (s) ({count} total samples)"
        );
        for (percent, share, star) in
            [("50.0", 0.5, ' '), ("90.0", 0.9, ' '), ("99.0", 0.99, '*'), ("99.9", 0.999, ' ')]
        {
            let _ = writeln!(text, "\t{star} {percent}th: {:.0}", at(times, share));
        }
    }
    let per_second = seen.requests_us.len() as f64 / took.as_secs_f64().max(f64::MIN_POSITIVE);
    let _ = writeln!(text, "average rps: {per_second:.2}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Metric;

    #[test]
    fn every_request_is_counted_and_the_report_reads_as_that_of_schbench() {
        let text = Schbench { message_threads: 2, workers: 3, requests: 5, work_us: 10 }.run();
        assert_eq!(text.matches("(30 total samples)").count(), 2, "{text}");
        let known = Metric::known_of(&["schbench".into()]);
        let values: Vec<f64> = known.iter().filter_map(|metric| metric.value(&text)).collect();
        assert_eq!(values.len(), known.len(), "{text}");
        // A request sleeps for 100 µs, and no sleep ends early.
        assert!(values[3] >= 100.0 && values[1] >= values[0] && values[4] > 0.0, "{text}");
    }

    #[test]
    fn percentiles_are_of_the_samples() {
        let times: Vec<f64> = (1..=1000).map(f64::from).collect();
        let text = report(&Seen { wakeups_us: times.clone(), requests_us: times }, Duration::from_secs(4));
        assert!(
            text.contains("50.0th: 50")
                && text.contains("99.9th: 99")
                && text.ends_with("average rps: 250.00\n"),
            "{text}"
        );
    }
}
