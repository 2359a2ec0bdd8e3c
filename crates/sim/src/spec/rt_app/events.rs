//! The events of a phase.

use super::convert::{Converter, TaskPart, find};
use super::json::{Entry, Json, JsonValue};
use crate::program::Op;
use crate::spec::Fault;

/// Writing to memory that is in a cache, bytes a ns.
const MEMORY_BYTES_PER_NS: u64 = 8;
/// Writing to a device that takes everything, bytes a ns.
const DEVICE_BYTES_PER_NS: u64 = 4;
/// Following a pointer to a line that no cache holds, ns.
const CHASE_NS: u64 = 80;

/// A key and value of an event's object.
fn member<'a>(json: &'a Json, key: &str) -> Option<&'a Json> {
    let JsonValue::Object(entries) = &json.value else { return None };
    find(entries, key)
}

impl Converter<'_> {
    /// Adds what an event does.
    pub(super) fn event(
        &mut self,
        part: &mut TaskPart<'_>,
        event: &'static str,
        entry: &Entry,
    ) -> Result<(), Fault> {
        let value = &entry.value;
        match event {
            "run" | "runtime" => {
                let us = count(entry)?;
                let work_ns = if event == "run" { self.calibrated_ns(us) } else { us.saturating_mul(1_000) };
                if event == "runtime" && self.has_slow_cores() {
                    self.assume(
                        "runtime",
                        "work of so long on the reference core",
                        "it is a time on the clock; on slower cores it takes longer here",
                    );
                }
                part.ops.push(Op::Compute { work_ns });
            }
            "sleep" => part.ops.push(Op::Sleep { ns: count(entry)?.saturating_mul(1_000) }),
            "timer" => self.timer(part, value)?,
            "lock" => {
                let name = text(entry)?;
                part.held.push(name.to_owned());
                part.ops.push(Op::Lock { lock: self.names.lock(name) });
            }
            "unlock" => {
                let name = text(entry)?;
                part.held.retain(|held| held != name);
                part.ops.push(Op::Unlock { lock: self.names.lock(name) });
            }
            "signal" => part.ops.push(Op::Signal { condition: self.names.condition(text(entry)?) }),
            // A resume is a broadcast, too. The lock around it is free in rt-app, because no task keeps it.
            "broad" | "resume" => {
                part.ops.push(Op::Broadcast { condition: self.names.condition(text(entry)?) });
            }
            "wait" | "sync" => self.wait(part, event, entry)?,
            "suspend" => self.suspend(part, value),
            "barrier" => {
                let barrier = self.names.barrier(text(entry)?, part.instances);
                part.ops.push(Op::Barrier { barrier });
            }
            "sem_post" => part.ops.push(Op::Post { semaphore: self.names.semaphore(text(entry)?) }),
            "sem_wait" => part.ops.push(Op::Acquire { semaphore: self.names.semaphore(text(entry)?) }),
            "yield" => part.ops.push(Op::Yield),
            "fork" => {
                let name = text(entry)?;
                let Some(template) = self.task_names.iter().position(|known| known == name) else {
                    return Err(value.fault(format!(
                        "there is no task \"{name}\" to fork; there are {}",
                        self.task_names.join(", ")
                    )));
                };
                part.ops.push(Op::Fork { template: template as u32 });
            }
            _ => self.memory(part, event, entry)?,
        }
        Ok(())
    }

    fn wait(&mut self, part: &mut TaskPart<'_>, event: &str, entry: &Entry) -> Result<(), Fault> {
        let JsonValue::Object(_) = &entry.value.value else {
            return Err(wrong(entry, "an object such as { \"ref\": \"condition\", \"mutex\": \"mutex\" }"));
        };
        let name = |key| match member(&entry.value, key).map(|json| &json.value) {
            Some(JsonValue::Text(name)) => name.as_str(),
            // What rt-app takes for it.
            _ => "unknown",
        };
        let mutex = name("mutex");
        let (condition, lock) = (self.names.condition(name("ref")), self.names.lock(mutex));
        let held = part.held.iter().any(|held| held == mutex);
        if !held {
            part.ops.push(Op::Lock { lock });
        }
        if event == "sync" {
            part.ops.push(Op::Signal { condition });
        }
        part.ops.push(Op::Wait { condition, lock });
        if !held {
            part.ops.push(Op::Unlock { lock });
        }
        Ok(())
    }

    /// Waits under the task's own name, whatever the value. Older versions waited under the value's name, and files for them still exist. These
    /// do not work otherwise: no task in them resumes the task's own name.
    fn suspend(&mut self, part: &mut TaskPart<'_>, value: &Json) {
        let own = part.name;
        let given = match &value.value {
            JsonValue::Text(given) => given.as_str(),
            _ => own,
        };
        let name = if !self.resumed.contains(own) && self.resumed.contains(given) { given } else { own };
        if name != own {
            let why = "no task resumes this one by its own name, and today's rt-app would wait for ever";
            self.assume("suspend", &format!("{own} waits to be resumed as {name}"), why);
        } else if !self.resumed.contains(own) {
            self.assume("suspend", &format!("{own} waits for ever"), "no task resumes it");
        }
        let (condition, lock) = (self.names.condition(name), self.names.lock(&format!("{name} (suspended)")));
        part.ops.extend([Op::Wait { condition, lock }, Op::Unlock { lock }]);
    }

    fn timer(&mut self, part: &mut TaskPart<'_>, value: &Json) -> Result<(), Fault> {
        let JsonValue::Object(_) = &value.value else {
            return Err(
                value.fault(format!("a timer is {}; expected an object with ref and period", value.kind()))
            );
        };
        let name = match member(value, "ref").map(|json| &json.value) {
            Some(JsonValue::Text(name)) => name.clone(),
            _ => "unknown".to_owned(),
        };
        let us = match member(value, "period") {
            Some(json) => whole(json, "period")?,
            None => 0,
        };
        let absolute = matches!(member(value, "mode").map(|json| &json.value), Some(JsonValue::Text(mode)) if mode.starts_with("absolute"));
        if !name.starts_with("unique") {
            self.shared_timer(&name, part);
        }
        let place = part.timers.iter().position(|known| *known == name).unwrap_or_else(|| {
            part.timers.push(name.clone());
            part.timers.len() - 1
        });
        if place > 3 {
            let why = "a task has four timers here";
            self.assume("timer", &format!("{name} of {} is the same as its fourth", part.name), why);
        }
        part.ops.push(Op::Timer {
            timer: place.min(3) as u8,
            ns: us.saturating_mul(1_000),
            relative: !absolute,
        });
        Ok(())
    }

    /// Memory and devices become computing.
    fn memory(&mut self, part: &mut TaskPart<'_>, event: &str, entry: &Entry) -> Result<(), Fault> {
        let (work_ns, value) = match event {
            "iorun" => (
                count(entry)? / DEVICE_BYTES_PER_NS,
                format!("{DEVICE_BYTES_PER_NS} bytes a ns of computing"),
            ),
            "mem" => (
                count(entry)? / MEMORY_BYTES_PER_NS,
                format!("{MEMORY_BYTES_PER_NS} bytes a ns of computing"),
            ),
            _ => {
                let number = |key| match member(&entry.value, key) {
                    Some(json) => whole(json, key),
                    None => Err(wrong(entry, "an object with type, size and count")),
                };
                let (size, times) = (number("size")?, number("count")?);
                part.working_set_bytes = part.working_set_bytes.max(size);
                match member(&entry.value, "type").map(|json| &json.value) {
                    Some(JsonValue::Text(kind)) if kind == "chase" => {
                        (times.saturating_mul(CHASE_NS), format!("{CHASE_NS} ns of computing a hop"))
                    }
                    _ => (
                        times / MEMORY_BYTES_PER_NS,
                        format!("{MEMORY_BYTES_PER_NS} bytes a ns of computing"),
                    ),
                }
            }
        };
        self.assume(event, &value, "memory and devices are not simulated");
        part.ops.push(Op::Compute { work_ns });
        Ok(())
    }
}

fn wrong(entry: &Entry, expected: &str) -> Fault {
    entry.value.fault(format!("{} is {}; expected {expected}", entry.key, entry.value.kind()))
}

fn text(entry: &Entry) -> Result<&str, Fault> {
    match &entry.value.value {
        JsonValue::Text(text) => Ok(text),
        _ => Err(wrong(entry, "a name")),
    }
}

fn count(entry: &Entry) -> Result<u64, Fault> {
    whole(&entry.value, &entry.key)
}

fn whole(json: &Json, what: &str) -> Result<u64, Fault> {
    match json.value {
        JsonValue::Integer(value) => u64::try_from(value)
            .map_err(|_| json.fault(format!("{what} is {value}; expected a whole number of at least 0"))),
        _ => Err(json.fault(format!("{what} is {}; expected a whole number of at least 0", json.kind()))),
    }
}
