//! The condition under which a Trace is written: `FIELD > VALUE`, `FIELD < VALUE`, and either `for task NAME` or
//! `for cgroup PATH`.

use super::subject::Subject;
use super::window::WindowScope;
use std::fmt;
use std::str::FromStr;
use swtch_units::{Inequality, Unit};

/// What a condition can be about. All are of the last second.
pub struct ConditionField {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    unit: Unit,
    kind: Kind,
    read: fn(&WindowScope) -> Option<f64>,
}

/// What a field is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// All tasks, or those of a name or a cgroup.
    Tasks,
    Machine,
    /// A cgroup, which must be named.
    Cgroup,
}

impl fmt::Debug for ConditionField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

macro_rules! fields {
    ($($name:literal, $unit:ident, $kind:ident, $meaning:literal, $read:expr;)*) => {
        /// All that a condition can be about.
        pub static FIELDS: &[ConditionField] = &[$(ConditionField {
            name: $name, meaning: $meaning, unit: Unit::$unit, kind: Kind::$kind, read: $read,
        }),*];
    };
}

fields! {
    "wait.p50", Time, Tasks, "median wait in a run queue", |scope| scope.wait_ns(0.5);
    "wait.p90", Time, Tasks, "90th percentile of the waits", |scope| scope.wait_ns(0.9);
    "wait.p99", Time, Tasks, "99th percentile of the waits", |scope| scope.wait_ns(0.99);
    "wait.longest", Time, Tasks, "longest wait", |scope| scope.wait_ns(1.0);
    "slice.p50", Time, Tasks, "median time on a CPU until a switch", |scope| scope.slice_ns(0.5);
    "slice.p99", Time, Tasks, "99th percentile of these times", |scope| scope.slice_ns(0.99);
    "slice.longest", Time, Tasks, "longest of them", |scope| scope.slice_ns(1.0);
    "switches.rate", Rate, Tasks, "context switches a second", |scope| Some(scope.rate(|part| part.switches));
    "wakeups.rate", Rate, Tasks, "wake-ups a second", |scope| Some(scope.rate(|part| part.wakeups));
    "lost.rate", Rate, Machine, "events lost a second", |scope| Some(scope.rate(|part| part.lost));
    "cpu.pressure", Share, Machine, "share of the time in which a task waited for a CPU", |scope| scope.share(|part| part.pressure_ns, 1);
    "cpu.steal", Share, Machine, "share of the CPUs' time that the hypervisor took", |scope| scope.share(|part| part.steal_ns, scope.cpus);
    "throttled", Share, Cgroup, "share of the periods of the cgroup's own quota in which it was stopped", WindowScope::throttled;
}

/// A condition that is not one. Each names the place of the mistake, in characters from 1 on.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConditionError {
    /// It has another form.
    #[error(
        "'{0}' is not a condition: write FIELD > VALUE or FIELD < VALUE, such as 'wait.p99 > 20ms', 'wait.p99 > 20ms for task nginx' or \
         'throttled > 10% for cgroup /web'"
    )]
    Form(String),
    /// What follows `for` is neither tasks nor a cgroup.
    #[error(
        "'{found}' (character {place}) is neither 'task NAME' nor 'cgroup PATH', which follow 'for': write {example}"
    )]
    Subject {
        /// The words as given.
        found: String,
        /// Where.
        place: usize,
        /// What may follow.
        example: &'static str,
    },
    /// There is no such field.
    #[error("'{name}' (character {place}) is not a field of a condition; fields are {names}", names = field_names())]
    Field {
        /// The words as given.
        name: String,
        /// Where.
        place: usize,
    },
    /// The field is one of the machine.
    #[error("{field} is of the whole machine: leave out '{found}' (character {place})")]
    NotOfTasks {
        /// The field.
        field: &'static str,
        /// What is too much.
        found: String,
        /// Where.
        place: usize,
    },
    /// The field is one of a cgroup, and none is named.
    #[error(
        "{field} (character {place}) is of a cgroup: end with 'for cgroup PATH', such as '{field} > 10% for cgroup /web'"
    )]
    OfCgroup {
        /// The field.
        field: &'static str,
        /// Where a cgroup is missing.
        place: usize,
    },
    /// The value is not one of the field.
    #[error("'{value}' (character {place}) is not a value of {field}: write {example}")]
    Value {
        /// The words as given.
        value: String,
        /// Where.
        place: usize,
        /// The field.
        field: &'static str,
        /// A value of its kind.
        example: &'static str,
    },
}

fn field_names() -> String {
    FIELDS.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
}

/// A field is above or below a value.
#[derive(Clone, Debug)]
pub struct Condition {
    text: String,
    field: &'static ConditionField,
    is_above: bool,
    value: f64,
    subject: Subject,
}

impl Condition {
    /// Whether it needs the kernel's own counters.
    pub(super) fn is_of_machine(&self) -> bool {
        self.field.kind == Kind::Machine
    }

    /// What it is about.
    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The path of the cgroup that it is about, if it is about one.
    pub(super) fn cgroup(&self) -> Option<&str> {
        match &self.subject {
            Subject::Cgroup(path) => Some(path),
            _ => None,
        }
    }

    /// Why it holds of its tasks, if it does.
    pub(super) fn why(&self, scope: &WindowScope) -> Option<String> {
        let found = (self.field.read)(scope)?;
        let holds = if self.is_above { found > self.value } else { found < self.value };
        let shown = self.field.unit.show(found);
        holds.then(|| format!("{} was {shown} ({self})", self.field.name))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    /// ```
    /// use swtch_record::flight::Condition;
    /// let condition: Condition = "wait.p99>20ms".parse()?;
    /// assert_eq!(condition.to_string(), "wait.p99 > 20ms");
    /// assert!("wait.p98 > 20ms".parse::<Condition>().is_err());
    /// # Ok::<(), swtch_record::flight::ConditionError>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let wrong = || ConditionError::Form(text.to_owned());
        // A part of the text.
        let place = |part: &str| {
            let before = part.as_ptr().addr().saturating_sub(text.as_ptr().addr());
            text.get(..before).map_or(0, |before| before.chars().count()) + 1
        };
        let (comparison, of) = match text.split_once(" for ") {
            Some((comparison, of)) => (comparison, Some(of.trim())),
            None => (text, None),
        };
        let Inequality { name, is_above, value } = Inequality::split(comparison).ok_or_else(wrong)?;
        let subject = of.map_or(Ok(Subject::All), |of| subject(of, place(of)))?;
        let field = FIELDS.iter().find(|field| field.name == name);
        let field =
            field.ok_or_else(|| ConditionError::Field { name: name.to_owned(), place: place(name) })?;
        match (field.kind, of) {
            (Kind::Machine, Some(of)) => {
                let found = format!("for {of}");
                return Err(ConditionError::NotOfTasks {
                    field: field.name,
                    found,
                    place: comparison.chars().count() + 2,
                });
            }
            (Kind::Cgroup, _) if !matches!(subject, Subject::Cgroup(_)) => {
                return Err(ConditionError::OfCgroup { field: field.name, place: place(of.unwrap_or(name)) });
            }
            _ => {}
        }
        let wanted = field.unit.read(value).ok_or_else(|| ConditionError::Value {
            value: value.to_owned(),
            place: place(value),
            field: field.name,
            example: field.unit.example(),
        })?;
        let text = format!("{name} {} {value}{subject}", if is_above { '>' } else { '<' });
        Ok(Self { text, field, is_above, value: wanted, subject })
    }
}

/// What follows `for`.
fn subject(of: &str, place: usize) -> Result<Subject, ConditionError> {
    let wrong = |example| ConditionError::Subject { found: of.to_owned(), place, example };
    let (kind, name) = of.split_once(' ').unwrap_or((of, ""));
    match (kind, name.trim()) {
        ("task", "") => Err(wrong("'for task nginx'")),
        ("task", name) => Ok(Subject::Task(name.to_owned())),
        ("cgroup", path) if path.starts_with('/') => {
            let path = path.trim_end_matches('/');
            Ok(Subject::Cgroup(if path.is_empty() { "/" } else { path }.to_owned()))
        }
        ("cgroup", _) => Err(wrong(
            "the path from the first '/' on, as /proc/PID/cgroup has it: 'for cgroup /system.slice/nginx.service'",
        )),
        _ => Err(wrong("'for task nginx' or 'for cgroup /web'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_one_line_with_what_is_possible() {
        for (text, words) in [
            ("", "write FIELD > VALUE"),
            ("wait.p99", "write FIELD > VALUE"),
            ("wait.p99 >= 20ms", "write FIELD > VALUE"),
            ("> 20ms", "write FIELD > VALUE"),
            ("wait > 20ms", "wait.p50, wait.p90"),
            ("wait.p98 > 20ms", "cpu.steal"),
            ("wait.p99 > 20", "such as 20ms"),
            ("wait.p99 > -3ms", "such as 20ms"),
            ("switches.rate > many", "such as 100000"),
            ("cpu.steal > 30", "such as 30%"),
            ("cpu.steal > 130%", "such as 30%"),
            ("cpu.steal > 30% for task web", "leave out 'for task web' (character 17)"),
            ("cpu.steal > 30% for cgroup /web", "leave out 'for cgroup /web' (character 17)"),
            ("throttled > 10%", "(character 1) is of a cgroup: end with 'for cgroup PATH'"),
            ("throttled > 10% for task web", "(character 21) is of a cgroup"),
            ("throttled > 10 for cgroup /web", "'10' (character 13) is not a value of throttled: write"),
            ("throttled > 10% for cgroup web", "'cgroup web' (character 21) is neither"),
            ("throttled > 10% for cgroup", "the path from the first '/' on"),
            (
                "throttled > 10% for pod web",
                "'pod web' (character 21) is neither 'task NAME' nor 'cgroup PATH'",
            ),
            ("wärt > 1ms", "'wärt' (character 1)"),
            ("wait.p99 > 1ü for cgroup /web", "'1ü' (character 12)"),
            ("wait.p99 > 20ms for web", "for task nginx"),
            ("wait.p99 > 20ms for task ", "for task nginx"),
        ] {
            let error = text.parse::<Condition>().unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{text}: {error}");
        }
        for (text, value) in
            [("wait.p99>20ms", 20e6), ("switches.rate < 1.5k", 1500.0), ("cpu.steal > 5 %", 0.05)]
        {
            assert_eq!(text.parse::<Condition>().unwrap().value, value, "{text}");
        }
        let of_task: Condition = "wait.p99>20ms  for task  my web".parse().unwrap();
        assert_eq!(
            (of_task.subject(), of_task.to_string().as_str()),
            (&Subject::Task("my web".to_owned()), "wait.p99 > 20ms for task my web")
        );
        for (path, is) in [("/web", "/web"), ("/a/b c/", "/a/b c"), ("/", "/")] {
            let of_cgroup: Condition = format!("throttled>10% for cgroup {path}").parse().unwrap();
            assert_eq!(of_cgroup.cgroup(), Some(is));
            assert_eq!(of_cgroup.to_string(), format!("throttled > 10% for cgroup {is}"));
            assert!(!of_cgroup.is_of_machine());
        }
    }
}
