//! From rt-app's objects to a workload.

use super::RtApp;
use super::event_names::event_of;
use super::json::{Entry, Json, JsonValue};
use crate::assumption::Assumption;
use crate::machine::{Machine, REFERENCE_SPEED};
use crate::program::Op;
use crate::spec::{Fault, File};
use crate::workload::{Barrier, TaskSpec, Waiting, Workload};
use crate::workloads::MOST_TASKS;
use std::collections::{BTreeMap, BTreeSet};
use swtch_units::CpuId;

/// Keys that say how rt-app itself logs and where: nothing to simulate.
const OF_NO_CONCERN: [&str; 12] = [
    "gnuplot",
    "lock_pages",
    "logdir",
    "log_size",
    "log_basename",
    "ftrace",
    "frag",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "calibration",
    "duration",
];
/// Keys of tasks and phases that are read where they belong.
const READ_ELSEWHERE: [&str; 7] = ["loop", "instance", "delay", "cpus", "priority", "policy", "phases"];

/// The tables in the making.
pub(super) struct Converter<'a> {
    machine: &'a Machine,
    file: &'a File,
    pub(super) names: Objects,
    pub(super) task_names: Vec<String>,
    /// Names that some task resumes.
    pub(super) resumed: BTreeSet<String>,
    assumed: Vec<Assumption>,
    /// Speed of the CPU that a `run` is calibrated by.
    calibrated_speed: u64,
    default_policy: String,
    timer_users: BTreeMap<String, String>,
}

/// Objects by name.
#[derive(Default)]
pub(super) struct Objects {
    locks: BTreeMap<String, u32>,
    conditions: BTreeMap<String, u32>,
    barriers: BTreeMap<String, u32>,
    members: Vec<u32>,
    semaphores: BTreeMap<String, u32>,
}

fn number(table: &mut BTreeMap<String, u32>, name: &str) -> u32 {
    let next = table.len() as u32;
    *table.entry(name.to_owned()).or_insert(next)
}

impl Objects {
    pub(super) fn lock(&mut self, name: &str) -> u32 {
        number(&mut self.locks, name)
    }

    pub(super) fn condition(&mut self, name: &str) -> u32 {
        number(&mut self.conditions, name)
    }

    pub(super) fn semaphore(&mut self, name: &str) -> u32 {
        number(&mut self.semaphores, name)
    }

    /// Every mention adds the task's instances to its members.
    pub(super) fn barrier(&mut self, name: &str, instances: u32) -> u32 {
        let barrier = number(&mut self.barriers, name);
        self.members.resize(self.barriers.len(), 0);
        self.members[barrier as usize] += instances;
        barrier
    }
}

/// A task in the making.
pub(super) struct TaskPart<'a> {
    pub(super) name: &'a str,
    pub(super) instances: u32,
    pub(super) ops: Vec<Op>,
    /// Mutexes that it holds where it is.
    pub(super) held: Vec<String>,
    pub(super) timers: Vec<String>,
    pub(super) working_set_bytes: u64,
}

pub(super) fn convert(json: &Json, machine: &Machine, file: &File) -> Result<RtApp, Fault> {
    let root = object(json, "the file")?;
    let tasks =
        find(root, "tasks").ok_or_else(|| json.fault("there are no tasks; expected an object \"tasks\""))?;
    let tasks = object(tasks, "tasks")?;
    let mut resumed = BTreeSet::new();
    for task in tasks {
        find_resumed(&task.value, &mut resumed);
    }
    let mut converter = Converter {
        machine,
        file,
        names: Objects::default(),
        task_names: tasks.iter().map(|task| task.key.clone()).collect(),
        resumed,
        assumed: Vec::new(),
        calibrated_speed: u64::from(REFERENCE_SPEED),
        default_policy: "SCHED_OTHER".to_owned(),
        timer_users: BTreeMap::new(),
    };
    for entry in root.iter().filter(|entry| !["tasks", "global", "resources"].contains(&entry.key.as_str())) {
        converter.left_out(&entry.key, entry.at);
    }
    let mut workload = Workload { name: "rt-app".to_owned(), ..Workload::default() };
    if let Some(global) = find(root, "global") {
        converter.global(object(global, "global")?, &mut workload)?;
    }
    for task in tasks {
        converter.task(task, &mut workload)?;
    }
    if workload.tasks.is_empty() {
        return Err(json.fault("no task has an instance; expected one to begin with"));
    }
    Ok(converter.finish(workload))
}

impl Converter<'_> {
    fn finish(self, mut workload: Workload) -> RtApp {
        workload.locks = self.names.locks.len() as u32;
        workload.conditions = self.names.conditions.len() as u32;
        workload.semaphores = vec![0; self.names.semaphores.len()];
        let barrier = |members: &u32| Barrier { members: (*members).max(1), waiting: Waiting::Block };
        workload.barriers = self.names.members.iter().map(barrier).collect();
        RtApp { workload, assumed: self.assumed }
    }

    /// Says something once.
    pub(super) fn assume(&mut self, what: &str, value: &str, why: &str) {
        let assumption = Assumption::new(what, value, why);
        if !self.assumed.contains(&assumption) {
            self.assumed.push(assumption);
        }
    }

    fn left_out(&mut self, key: &str, at: usize) {
        let place = self.file.place(at);
        self.assume(key, "left out", &format!("{place}: it is not simulated"));
    }

    pub(super) fn has_slow_cores(&self) -> bool {
        self.machine.types.iter().any(|kind| kind.speed != REFERENCE_SPEED)
    }

    /// Work of a `run` of `us` microseconds on the CPU of the calibration.
    pub(super) fn calibrated_ns(&self, us: u64) -> u64 {
        us.saturating_mul(1_000).saturating_mul(self.calibrated_speed) / u64::from(REFERENCE_SPEED)
    }

    pub(super) fn shared_timer(&mut self, name: &str, part: &TaskPart<'_>) {
        let first = self.timer_users.entry(name.to_owned()).or_insert_with(|| part.name.to_owned());
        if first != part.name || part.instances > 1 {
            self.assume(
                "timer",
                &format!("each task has its own {name}"),
                "rt-app lets them share one, which disturbs their periods",
            );
        }
    }

    fn global(&mut self, entries: &[Entry], workload: &mut Workload) -> Result<(), Fault> {
        for entry in entries {
            match (entry.key.as_str(), &entry.value.value) {
                ("duration", JsonValue::Integer(seconds)) => {
                    workload.duration_ns =
                        u64::try_from(*seconds).ok().map(|s| s.saturating_mul(1_000_000_000));
                }
                ("duration", _) => {
                    return Err(entry.value.fault("duration is not a whole number of seconds"));
                }
                ("calibration", JsonValue::Text(cpu)) => {
                    let id = cpu.strip_prefix("CPU").and_then(|id| id.parse::<u32>().ok());
                    match id.and_then(|id| self.machine.place_of(CpuId::new(id))) {
                        Some(place) => {
                            let kind = self.machine.cpus[place].core_type as usize;
                            self.calibrated_speed = u64::from(self.machine.types[kind].speed);
                        }
                        None => self.assume(
                            "calibration",
                            "the reference core",
                            &format!("{} has no {cpu}", self.machine.name),
                        ),
                    }
                }
                ("default_policy", JsonValue::Text(policy)) => self.default_policy.clone_from(policy),
                ("pi_enabled", JsonValue::Bool(true)) => {
                    self.assume("pi_enabled", "left out", "locks do not lend their waiters' priorities");
                }
                ("pi_enabled", _) => {}
                (key, _) if OF_NO_CONCERN.contains(&key) => {}
                (key, _) => self.left_out(key, entry.at),
            }
        }
        Ok(())
    }

    fn task(&mut self, task: &Entry, workload: &mut Workload) -> Result<(), Fault> {
        let entries = object(&task.value, &task.key)?;
        let instances = integer(entries, "instance")?.unwrap_or(1);
        let known = workload.tasks.len() as u64;
        let Some(instances) =
            u32::try_from(instances).ok().filter(|count| known + u64::from(*count) <= MOST_TASKS)
        else {
            return Err(task
                .value
                .fault(format!("instance is {instances}; expected 0 to {MOST_TASKS} tasks in all")));
        };
        let mut part = TaskPart {
            name: &task.key,
            instances,
            ops: Vec::new(),
            held: Vec::new(),
            timers: Vec::new(),
            working_set_bytes: 0,
        };
        let phases = find(entries, "phases").map(|phases| object(phases, "phases")).transpose()?;
        let times = integer(entries, "loop")?;
        match phases {
            Some(phases) => {
                for entry in entries.iter().filter(|entry| event_of(entry).is_some()) {
                    self.left_out(&format!("{} beside phases", entry.key), entry.at);
                }
                let to = part.ops.len();
                for phase in phases {
                    let inner = object(&phase.value, &phase.key)?;
                    let times = integer(inner, "loop")?.unwrap_or(1);
                    self.phase(&mut part, inner, times, 1, false)?;
                }
                go_round(&mut part.ops, to, times.unwrap_or(-1), 0);
            }
            None => self.phase(&mut part, entries, times.unwrap_or(-1), 0, true)?,
        }
        if part.ops.is_empty() {
            return Err(task
                .value
                .fault(format!("task \"{}\" has no events; expected at least one", task.key)));
        }
        let (ops, working_set_bytes) = (part.ops, part.working_set_bytes);
        let mut spec = self.spec(task, entries)?;
        spec.program = workload.add_program(ops);
        spec.working_set_bytes = working_set_bytes;
        for instance in 0..instances {
            let name = if instances == 1 { task.key.clone() } else { format!("{}-{instance}", task.key) };
            workload.tasks.push(TaskSpec { name, ..spec.clone() });
        }
        workload.templates.push(TaskSpec { start_ns: 0, ..spec });
        Ok(())
    }

    /// What a task is: all of them are threads of rt-app.
    fn spec(&mut self, task: &Entry, entries: &[Entry]) -> Result<TaskSpec, Fault> {
        let mut spec = TaskSpec { name: task.key.clone(), ..TaskSpec::default() };
        spec.start_ns =
            integer(entries, "delay")?.map_or(0, |us| u64::try_from(us).unwrap_or(0).saturating_mul(1_000));
        let policy = match find(entries, "policy") {
            Some(Json { value: JsonValue::Text(policy), .. }) => policy.clone(),
            _ => self.default_policy.clone(),
        };
        let priority = integer(entries, "priority")?;
        match policy.as_str() {
            "SCHED_FIFO" | "SCHED_RR" => {
                spec.priority = priority.unwrap_or(10).clamp(0, 99) as u8;
                let why = "a simulation has one policy for all tasks; a real-time one serves these by priority, others ignore it";
                self.assume("policy", &policy, why);
            }
            "SCHED_DEADLINE" => {
                let at = find(entries, "policy").map_or(task.at, |json| json.at);
                self.left_out("SCHED_DEADLINE", at);
            }
            "SCHED_IDLE" => {
                spec.nice = 19;
                self.assume("policy", "nice 19", "SCHED_IDLE is not simulated");
            }
            _ => spec.nice = priority.unwrap_or(0).clamp(-20, 19) as i8,
        }
        if let Some(cpus) = find(entries, "cpus") {
            spec.allowed = self.cpus(cpus)?;
        }
        Ok(spec)
    }

    fn cpus(&self, json: &Json) -> Result<Vec<CpuId>, Fault> {
        let JsonValue::List(list) = &json.value else {
            return Err(json.fault(format!("cpus is {}; expected a list of CPUs", json.kind())));
        };
        let cpu = |json: &Json| {
            let JsonValue::Integer(number) = json.value else {
                return Err(json.fault(format!("a CPU is {}; expected a whole number", json.kind())));
            };
            let id = u32::try_from(number).ok().map(CpuId::new);
            id.filter(|id| self.machine.place_of(*id).is_some()).ok_or_else(|| {
                let (name, count) = (&self.machine.name, self.machine.cpus.len());
                json.fault(format!("there is no CPU {number}; {name} has {count}"))
            })
        };
        list.iter().map(cpu).collect()
    }

    /// Adds the events of a phase, or of a task that is its only phase.
    fn phase(
        &mut self,
        part: &mut TaskPart<'_>,
        entries: &[Entry],
        times: i64,
        counter: u8,
        is_task: bool,
    ) -> Result<(), Fault> {
        let to = part.ops.len();
        for entry in entries {
            if let Some(event) = event_of(entry) {
                self.event(part, event, entry)?;
            } else if !is_task && entry.key != "loop"
                || is_task && !READ_ELSEWHERE.contains(&entry.key.as_str())
            {
                self.left_out(&entry.key, entry.at);
            }
        }
        if part.ops.len() == to {
            let at = entries.first().map_or(0, |entry| entry.at);
            return Err(Fault::new(
                at..at,
                format!("a phase of task \"{}\" has no events; expected at least one", part.name),
            ));
        }
        go_round(&mut part.ops, to, times, counter);
        Ok(())
    }
}

/// Ends a loop that began at `to`; a negative number is endless, none leaves it out.
fn go_round(ops: &mut Vec<Op>, to: usize, times: i64, counter: u8) {
    match times {
        0 => ops.truncate(to),
        1 => {}
        _ => {
            let times = u32::try_from(times.max(0)).unwrap_or(u32::MAX);
            ops.push(Op::Loop { to: to as u32, times, counter });
        }
    }
}

fn find_resumed(json: &Json, resumed: &mut BTreeSet<String>) {
    let JsonValue::Object(entries) = &json.value else { return };
    for entry in entries {
        match &entry.value.value {
            JsonValue::Text(name) if event_of(entry) == Some("resume") => {
                resumed.insert(name.clone());
            }
            _ => find_resumed(&entry.value, resumed),
        }
    }
}

fn object<'a>(json: &'a Json, what: &str) -> Result<&'a [Entry], Fault> {
    match &json.value {
        JsonValue::Object(entries) => Ok(entries),
        _ => Err(json.fault(format!("{what} is {}; expected an object", json.kind()))),
    }
}

/// The value of a key; of several, the last one, as JSON has it.
pub(super) fn find<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Json> {
    entries.iter().rev().find(|entry| entry.key == key).map(|entry| &entry.value)
}

fn integer(entries: &[Entry], key: &str) -> Result<Option<i64>, Fault> {
    match find(entries, key) {
        None => Ok(None),
        Some(Json { value: JsonValue::Integer(value), .. }) => Ok(Some(*value)),
        Some(json) => Err(json.fault(format!("{key} is {}; expected a whole number", json.kind()))),
    }
}
