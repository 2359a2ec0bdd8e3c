//! The condition under which a Trace is written: `FIELD > VALUE`, `FIELD < VALUE`, and either `for task NAME`.

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
    /// Whether it is one of the machine, and not of tasks.
    is_of_machine: bool,
    read: fn(&WindowScope) -> Option<f64>,
}

impl fmt::Debug for ConditionField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

macro_rules! fields {
    ($($name:literal, $unit:ident, $machine:literal, $meaning:literal, $read:expr;)*) => {
        /// All that a condition can be about.
        pub static FIELDS: &[ConditionField] = &[$(ConditionField {
            name: $name, meaning: $meaning, unit: Unit::$unit, is_of_machine: $machine, read: $read,
        }),*];
    };
}

fields! {
    "wait.p50", Time, false, "median wait in a run queue", |scope| scope.wait_ns(0.5);
    "wait.p90", Time, false, "90th percentile of the waits", |scope| scope.wait_ns(0.9);
    "wait.p99", Time, false, "99th percentile of the waits", |scope| scope.wait_ns(0.99);
    "wait.longest", Time, false, "longest wait", |scope| scope.wait_ns(1.0);
    "slice.p50", Time, false, "median time on a CPU until a switch", |scope| scope.slice_ns(0.5);
    "slice.p99", Time, false, "99th percentile of these times", |scope| scope.slice_ns(0.99);
    "slice.longest", Time, false, "longest of them", |scope| scope.slice_ns(1.0);
    "switches.rate", Rate, false, "context switches a second", |scope| Some(scope.rate(|part| part.switches));
    "wakeups.rate", Rate, false, "wake-ups a second", |scope| Some(scope.rate(|part| part.wakeups));
    "lost.rate", Rate, true, "events lost a second", |scope| Some(scope.rate(|part| part.lost));
    "cpu.pressure", Share, true, "share of the time in which a task waited for a CPU", |scope| scope.share(|part| part.pressure_ns, 1);
    "cpu.steal", Share, true, "share of the CPUs' time that the hypervisor took", |scope| scope.share(|part| part.steal_ns, scope.cpus);
}

/// A condition that is not one.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConditionError {
    /// It has another form.
    #[error(
        "'{0}' is not a condition: write FIELD > VALUE or FIELD < VALUE, such as 'wait.p99 > 20ms' or 'wait.p99 > 20ms for task nginx'"
    )]
    Form(String),
    /// There is no such field.
    #[error("'{0}' is not a field of a condition; fields are {names}", names = field_names())]
    Field(String),
    /// The field is one of the machine.
    #[error("{0} is of the whole machine: leave out 'for task NAME'")]
    NotOfTasks(&'static str),
    /// The value is not one of the field.
    #[error("'{value}' is not a value of {field}: write {example}")]
    Value {
        /// What was written.
        value: String,
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
    task: Option<String>,
}

impl Condition {
    /// Whether it needs the kernel's own counters.
    pub(super) fn is_of_machine(&self) -> bool {
        self.field.is_of_machine
    }

    /// The name of the tasks that it is about; all without one.
    pub(super) fn task(&self) -> Option<&str> {
        self.task.as_deref()
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
        let (comparison, task) = match text.split_once(" for ") {
            Some((comparison, task)) => {
                (comparison, Some(task.trim().strip_prefix("task ").ok_or_else(wrong)?.trim()))
            }
            None => (text, None),
        };
        let Inequality { name, is_above, value } = Inequality::split(comparison).ok_or_else(wrong)?;
        if task.is_some_and(str::is_empty) {
            return Err(wrong());
        }
        let field = FIELDS.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| ConditionError::Field(name.to_owned()))?;
        if task.is_some() && field.is_of_machine {
            return Err(ConditionError::NotOfTasks(field.name));
        }
        let of = task.map_or_else(String::new, |task| format!(" for task {task}"));
        let text = format!("{name} {} {value}{of}", if is_above { '>' } else { '<' });
        Ok(Self { text, field, is_above, value: field.value(value)?, task: task.map(str::to_owned) })
    }
}

impl ConditionField {
    fn value(&self, text: &str) -> Result<f64, ConditionError> {
        let value = self.unit.read(text);
        value.ok_or_else(|| ConditionError::Value {
            value: text.to_owned(),
            field: self.name,
            example: self.unit.example(),
        })
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
            ("cpu.steal > 30% for task web", "leave out 'for task NAME'"),
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
            (of_task.task(), of_task.to_string().as_str()),
            (Some("my web"), "wait.p99 > 20ms for task my web")
        );
    }
}
