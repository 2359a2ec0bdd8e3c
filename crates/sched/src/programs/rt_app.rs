//! Workloads of rt-app (github.com/scheduler-tools/rt-app) as real threads: the part of its format that says which task computes and sleeps when.
//!
//! Of a task these are understood: `instance`, `loop`, `phases`, and in a phase or the task itself `loop`, `run`, `runtime`, `sleep`, `timer`, `suspend`
//! and `resume`, in their order. Anything else is refused by name: a workload that is run in part would be another one.

use super::{at, compute, micros};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Without `loop`, tasks go on for ever: until the duration of the workload is over.
const FOR_EVER: u64 = u64::MAX;
/// A task that waits for its resumption looks this often whether all is over.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A workload.
#[derive(Clone, Debug, PartialEq)]
pub struct RtApp {
    duration: Duration,
    tasks: Vec<Task>,
}

#[derive(Clone, Debug, PartialEq)]
struct Task {
    name: String,
    loops: u64,
    phases: Vec<Phase>,
}

#[derive(Clone, Debug, PartialEq)]
struct Phase {
    loops: u64,
    events: Vec<Event>,
}

#[derive(Clone, Debug, PartialEq)]
enum Event {
    Run { us: u64 },
    Runtime { us: u64 },
    Sleep { us: u64 },
    Timer { period: Duration },
    Suspend,
    Resume { name: String },
}

/// Why a workload cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RtAppError {
    /// It is not JSON.
    #[error("the workload is not JSON: {0}; comments have to be taken out")]
    Json(#[from] serde_json::Error),
    /// It has something that is not understood.
    #[error("'{place}' {problem}; see 'swtch sched load rt-app --help' for what is understood")]
    NotUnderstood {
        /// Where.
        place: String,
        /// What is there.
        problem: String,
    },
}

fn wrong(place: &str, problem: &str) -> RtAppError {
    RtAppError::NotUnderstood { place: place.to_owned(), problem: problem.to_owned() }
}

impl RtApp {
    /// Reads a workload.
    ///
    /// # Errors
    /// When it is not JSON, or has something that is not understood.
    pub fn parse(text: &str) -> Result<Self, RtAppError> {
        let whole: Value = serde_json::from_str(text)?;
        let tasks = whole["tasks"].as_object().ok_or_else(|| wrong("tasks", "is missing"))?;
        let seconds = &whole["global"]["duration"];
        let duration = seconds.as_f64().filter(|seconds| *seconds > 0.0).unwrap_or(1.0);
        let mut found = Vec::new();
        for (name, task) in tasks {
            let task = task.as_object().ok_or_else(|| wrong(name, "is not a task"))?;
            let instances = number(task, "instance", name)?.unwrap_or(1);
            let one = task_of(name, task)?;
            found.extend((0..instances).map(|_| one.clone()));
        }
        Ok(Self { duration: Duration::from_secs_f64(duration), tasks: found })
    }

    /// Runs it to its end, and says how late tasks woke up from sleeps and timers.
    pub fn run(&self) -> String {
        let began = Instant::now();
        let end = began + self.duration;
        let names = self.tasks.iter().map(|task| (task.name.clone(), Gate::default()));
        let gates: BTreeMap<String, Gate> = names.collect();
        let mut late_us = Vec::new();
        let mut missed = 0;
        thread::scope(|scope| {
            let threads: Vec<_> =
                self.tasks.iter().map(|task| scope.spawn(|| run_task(task, &gates, began, end))).collect();
            for thread in threads {
                let seen = thread.join().unwrap_or_default();
                late_us.extend(seen.late_us);
                missed += seen.missed;
            }
        });
        let took_s = began.elapsed().as_secs_f64();
        format!(
            "Wakeups: {}\nMedian lateness: {:.0} us\nLateness p99: {:.0} us\nMissed: {missed} periods\nTime: {took_s:.6}\n",
            late_us.len(),
            at(&late_us, 0.5),
            at(&late_us, 0.99),
        )
    }
}

fn number(object: &Map<String, Value>, key: &str, place: &str) -> Result<Option<u64>, RtAppError> {
    let Some(value) = object.get(key) else { return Ok(None) };
    let number = value.as_u64().or_else(|| (value.as_i64() == Some(-1)).then_some(FOR_EVER));
    number.map(Some).ok_or_else(|| wrong(&format!("{place}.{key}"), "is not a number of zero or more"))
}

fn task_of(name: &str, task: &Map<String, Value>) -> Result<Task, RtAppError> {
    let loops = number(task, "loop", name)?.unwrap_or(FOR_EVER);
    let phases = match task.get("phases").map(|phases| phases.as_object()) {
        Some(Some(phases)) => phases
            .iter()
            .map(|(phase, body)| {
                let place = format!("{name}.{phase}");
                let body = body.as_object().ok_or_else(|| wrong(&place, "is not a phase"))?;
                let loops = number(body, "loop", &place)?.unwrap_or(1);
                Ok(Phase { loops, events: events(body, &place, name)? })
            })
            .collect::<Result<_, RtAppError>>()?,
        Some(None) => return Err(wrong(&format!("{name}.phases"), "is not an object")),
        None => vec![Phase { loops: 1, events: events(task, name, name)? }],
    };
    Ok(Task { name: name.to_owned(), loops, phases })
}

/// The events of a phase, in their order. A key may have digits behind it, since keys of JSON are unique.
fn events(body: &Map<String, Value>, place: &str, task: &str) -> Result<Vec<Event>, RtAppError> {
    let mut found = Vec::new();
    for (key, value) in body {
        let kind = key.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let us = || number(body, key, place).map(Option::unwrap_or_default);
        found.push(match kind {
            "instance" | "loop" | "phases" => continue,
            "run" => Event::Run { us: us()? },
            "runtime" => Event::Runtime { us: us()? },
            "sleep" => Event::Sleep { us: us()? },
            "timer" => {
                let timer =
                    value.as_object().ok_or_else(|| wrong(&format!("{place}.{key}"), "is not a timer"))?;
                let period = number(timer, "period", &format!("{place}.{key}"))?;
                let period = period.ok_or_else(|| wrong(&format!("{place}.{key}"), "has no period"))?;
                Event::Timer { period: Duration::from_micros(period) }
            }
            "suspend" => Event::Suspend,
            "resume" => Event::Resume { name: value.as_str().unwrap_or(task).to_owned() },
            _ => return Err(wrong(&format!("{place}.{key}"), "is not understood")),
        });
    }
    Ok(found)
}

/// What the tasks of a name wait at when they are suspended.
#[derive(Default)]
struct Gate {
    resumptions: Mutex<u64>,
    changed: Condvar,
}

impl Gate {
    fn resume(&self) {
        *self.resumptions.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    fn suspend(&self, end: Instant) {
        let mut count = self.resumptions.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *count;
        while *count == before && Instant::now() < end {
            (count, _) = self.changed.wait_timeout(count, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[derive(Default)]
struct Seen {
    late_us: Vec<f64>,
    missed: u64,
}

fn run_task(task: &Task, gates: &BTreeMap<String, Gate>, began: Instant, end: Instant) -> Seen {
    let mut seen = Seen::default();
    let mut next_timer = began;
    let sleep_until = |due: Instant, seen: &mut Seen| {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        seen.late_us.push(micros(Instant::now().saturating_duration_since(due)));
    };
    for _ in 0..task.loops {
        for phase in &task.phases {
            for _ in 0..phase.loops {
                if Instant::now() >= end {
                    return seen;
                }
                for event in &phase.events {
                    match event {
                        Event::Run { us } => compute(*us),
                        Event::Runtime { us } => {
                            let until = Instant::now() + Duration::from_micros(*us);
                            while Instant::now() < until {
                                compute(1);
                            }
                        }
                        Event::Sleep { us } => {
                            sleep_until(Instant::now() + Duration::from_micros(*us), &mut seen);
                        }
                        Event::Timer { period } => {
                            next_timer += *period;
                            // A period that is over already has no wake-up: it was missed.
                            if Instant::now() > next_timer {
                                seen.missed += 1;
                                next_timer = Instant::now();
                            } else {
                                sleep_until(next_timer, &mut seen);
                            }
                        }
                        Event::Suspend => gates[&task.name].suspend(end),
                        Event::Resume { name } => gates.get(name).into_iter().for_each(Gate::resume),
                    }
                }
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_read_in_the_order_of_its_events_and_run() {
        let text = r#"{"global": {"duration": 1}, "tasks": {"frame": {"instance": 2, "loop": 3, "run": 5,
            "timer": {"ref": "tick", "period": 1000}}, "other": {"loop": 1, "phases": {"one": {"loop": 2, "sleep": 10, "run1": 1}}}}}"#;
        let workload = RtApp::parse(text).unwrap();
        assert_eq!(workload.tasks.len(), 3);
        let timer = Event::Timer { period: Duration::from_millis(1) };
        assert_eq!(workload.tasks[0].phases[0].events, [Event::Run { us: 5 }, timer]);
        assert_eq!(workload.tasks[2].phases[0].events, [Event::Sleep { us: 10 }, Event::Run { us: 1 }]);
        // Two tasks with three periods, of which a busy machine may miss some, and two sleeps.
        let printed = workload.run();
        let number = |word: &str| -> u64 {
            let rest = printed.split(word).nth(1).unwrap().trim_start();
            rest.split_whitespace().next().unwrap().parse().unwrap()
        };
        assert_eq!(number("Wakeups:") + number("Missed:"), 8, "{printed}");
    }

    #[test]
    fn tasks_resume_each_other_and_nothing_waits_for_ever() {
        let text = r#"{"global": {"duration": 0.05}, "tasks": {"one": {"run": 1, "resume": "two", "suspend": "one"},
            "two": {"run": 1, "resume": "one", "suspend": "two"}}}"#;
        assert!(RtApp::parse(text).unwrap().run().starts_with("Wakeups: 0\n"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let error = |text: &str| RtApp::parse(text).unwrap_err().to_string();
        assert!(error(r#"{"tasks": {"a": {"lock": "m"}}}"#).starts_with("'a.lock' is not understood"));
        assert!(error(r#"{"tasks": {"a": {"run": -5}}}"#).starts_with("'a.run' is not a number"));
        assert!(error("{").contains("not JSON") && error("{}").starts_with("'tasks' is missing"));
    }
}
