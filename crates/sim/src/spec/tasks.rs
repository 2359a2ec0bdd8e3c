//! Tasks and what they meet at.

use super::steps::{Names, Piece, parse};
use super::{Fault, File, SpecDocument};
use crate::machine::Machine;
use crate::program::{Op, Program};
use crate::workload::{
    Application, Barrier, Calls, NEW_PROCESS, Pipe, TaskClass, TaskSpec, Team, Waiting, Workload,
};
use crate::workloads::mix::{Phase, speeds};
use crate::workloads::{MOST_TASKS, Transport};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use swtch_units::CpuId;
use toml::Spanned;

pub(super) type Pipes = BTreeMap<String, Spanned<PipeTable>>;
pub(super) type Barriers = BTreeMap<String, Spanned<BarrierTable>>;
pub(super) type Teams = BTreeMap<String, TeamTable>;
pub(super) type Semaphores = BTreeMap<String, u32>;

/// `pipes.NAME`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PipeTable {
    #[serde(default = "pipe")]
    kind: Transport,
    #[serde(default, deserialize_with = "some_bytes")]
    capacity: Option<u64>,
}

fn pipe() -> Transport {
    Transport::Pipe
}

fn some_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    crate::quantity::bytes(deserializer).map(Some)
}

/// `barriers.NAME`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BarrierTable {
    /// Without it, all tasks whose programs come to it.
    members: Option<u32>,
    #[serde(default)]
    waiting: Waiting,
}

/// `teams.NAME`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamTable {
    #[serde(default)]
    waiting: Waiting,
    /// Without it, as `waiting`.
    joining: Option<Waiting>,
    #[serde(default)]
    calls: Calls,
}

impl TeamTable {
    fn team(self) -> Team {
        Team { waiting: self.waiting, joining: self.joining.unwrap_or(self.waiting), calls: self.calls }
    }
}

/// `[[application]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplicationTable {
    name: Spanned<String>,
    #[serde(default)]
    speeds: Vec<u32>,
    speedup: Option<f64>,
}

/// `[[task]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskTable {
    name: Spanned<String>,
    /// 0: it is only forked.
    #[serde(default = "one")]
    count: u32,
    program: Text,
    #[serde(default)]
    nice: Option<Spanned<i64>>,
    #[serde(default)]
    class: TaskClass,
    #[serde(default)]
    priority: Option<Spanned<i64>>,
    #[serde(default)]
    cpus: Vec<Spanned<u32>>,
    /// Tasks of the same process share an address space; without it, each task is a process.
    process: Option<String>,
    application: Option<Spanned<String>>,
    /// Its cgroup, by its path.
    cgroup: Option<Spanned<String>>,
    #[serde(default, deserialize_with = "crate::quantity::bytes")]
    working_set: u64,
    #[serde(default, deserialize_with = "crate::quantity::ns")]
    start: u64,
    #[serde(default)]
    background: bool,
}

fn one() -> u32 {
    1
}

/// A program: one text, or a list of texts.
#[derive(Clone, Debug)]
struct Text(Vec<Spanned<String>>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Whose place is that of the value around it.
        struct Steps;
        struct Inner(Vec<Option<Spanned<String>>>, Option<String>);

        impl<'de> Visitor<'de> for Steps {
            type Value = Inner;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a program: text, or a list of texts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Inner, E> {
                Ok(Inner(Vec::new(), Some(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Inner, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element::<Spanned<String>>()? {
                    texts.push(Some(text));
                }
                Ok(Inner(texts, None))
            }
        }

        impl<'de> Deserialize<'de> for Inner {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Steps)
            }
        }

        let inner = Spanned::<Inner>::deserialize(deserializer)?;
        let span = inner.span();
        let Inner(list, text) = inner.into_inner();
        let texts = list.into_iter().flatten().chain(text.map(|text| Spanned::new(span, text)));
        Ok(Self(texts.collect()))
    }
}

impl Text {
    /// The pieces, with where their bytes are in the file.
    fn pieces<'a>(&'a self, file: &File) -> Vec<Piece<'a>> {
        let piece = |text: &'a Spanned<String>| {
            let span = text.span();
            let raw = file.text.get(span.clone()).unwrap_or("");
            let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| raw.starts_with(quotes));
            let mut skipped = quotes.map_or(0, str::len);
            if skipped == 3 {
                // A new line right after the quotes is not part of the text.
                let line = &raw[skipped..];
                skipped += ["\r\n", "\n"].into_iter().find(|end| line.starts_with(end)).map_or(0, str::len);
            }
            let text = text.get_ref();
            let exact = raw.get(skipped..skipped + text.len()).is_some_and(|there| there == text);
            let from = if exact { span.start + skipped } else { span.start };
            Piece { text, from, exact }
        };
        self.0.iter().map(piece).collect()
    }
}

impl SpecDocument {
    /// The workload of its tasks.
    pub(super) fn tasks(&self, machine: &Machine, file: &File) -> Result<Workload, Fault> {
        let names = self.names()?;
        let mut workload = Workload {
            name: "tasks".to_owned(),
            locks: self.locks.len() as u32,
            conditions: self.conditions.len() as u32,
            semaphores: self.semaphores.values().copied().collect(),
            cgroups: super::cgroups::build(&self.cgroups)?,
            ..Workload::default()
        };
        for pipe in self.pipes.values() {
            workload.pipes.push(made_pipe(pipe)?);
        }
        for application in &self.applications {
            let table = application.get_ref();
            let phase = Phase { speeds: table.speeds.clone(), speedup: table.speedup, work_ns: 0 };
            let speeds =
                speeds(machine, &phase).map_err(|problem| Fault::new(application.span(), problem))?;
            workload.applications.push(Application { name: table.name.get_ref().clone(), speeds });
        }
        let total: u64 = self.tasks.iter().map(|task| u64::from(task.get_ref().count)).sum();
        if total > MOST_TASKS {
            let at = self.tasks.first().map_or(0..0, Spanned::span);
            return Err(Fault::new(at, format!("{total} tasks; expected at most {MOST_TASKS}")));
        }
        let mut processes = BTreeMap::new();
        for task in &self.tasks {
            self.add_task(&mut workload, task.get_ref(), machine, file, &names, &mut processes)?;
        }
        self.add_barriers(&mut workload)?;
        workload.teams = self.teams.values().map(|team| team.team()).collect();
        Ok(workload)
    }

    fn names(&self) -> Result<Names<'_>, Fault> {
        let tasks = self.tasks.iter().map(|task| &task.get_ref().name);
        let applications = self.applications.iter().map(|application| &application.get_ref().name);
        Ok(Names {
            pipes: self.pipes.keys().map(String::as_str).zip(0..).collect(),
            locks: unique(&self.locks)?,
            conditions: unique(&self.conditions)?,
            barriers: self.barriers.keys().map(String::as_str).zip(0..).collect(),
            teams: self.teams.keys().map(String::as_str).zip(0..).collect(),
            semaphores: self.semaphores.keys().map(String::as_str).zip(0..).collect(),
            templates: unique(tasks)?,
            applications: unique(applications)?,
        })
    }

    fn add_task<'a>(
        &self,
        workload: &mut Workload,
        task: &'a TaskTable,
        machine: &Machine,
        file: &File,
        names: &Names<'_>,
        processes: &mut BTreeMap<&'a str, u32>,
    ) -> Result<(), Fault> {
        let ops = parse(&task.program.pieces(file), names)?;
        workload.programs.push(Program { ops });
        let allowed = task.cpus.iter().map(|cpu| {
            let id = CpuId::new(*cpu.get_ref());
            if machine.place_of(id).is_some() {
                return Ok(id);
            }
            Err(Fault::new(
                cpu.span(),
                format!("there is no CPU {id}; {} has {}", machine.name, cpus(machine)),
            ))
        });
        let application = match &task.application {
            None => None,
            Some(name) => {
                Some(names.applications.get(name.get_ref().as_str()).copied().ok_or_else(|| {
                    Fault::new(name.span(), format!("there is no application \"{}\"", name.get_ref()))
                })?)
            }
        };
        let cgroup = task.cgroup.as_ref().map(|path| {
            let place = workload.cgroups.iter().position(|cgroup| cgroup.name == *path.get_ref());
            let fault = || {
                let known: Vec<_> = workload.cgroups.iter().map(|cgroup| cgroup.name.as_str()).collect();
                let problem =
                    format!("there is no cgroup \"{}\"; there are [{}]", path.get_ref(), known.join(", "));
                Fault::new(path.span(), problem)
            };
            place.map(|place| place as u32).ok_or_else(fault)
        });
        let spec = TaskSpec {
            name: task.name.get_ref().clone(),
            process: 0,
            program: workload.programs.len() as u32 - 1,
            application,
            nice: within(task.nice.as_ref(), "nice", -20..=19)? as i8,
            class: task.class,
            cgroup: cgroup.transpose()?,
            priority: within(task.priority.as_ref(), "priority", 0..=99)? as u8,
            allowed: allowed.collect::<Result<_, _>>()?,
            working_set_bytes: task.working_set,
            start_ns: task.start,
            background: task.background,
            kernel_thread: false,
        };
        // Processes without a name come after those with one, which there are no more of than tasks in the file.
        let unnamed = self.tasks.len() as u32;
        let named = task.process.as_deref().map(|name| {
            let next = processes.len() as u32;
            *processes.entry(name).or_insert(next)
        });
        for instance in 0..task.count {
            let name = if task.count == 1 { spec.name.clone() } else { format!("{}-{instance}", spec.name) };
            let process = named.unwrap_or(unnamed + workload.tasks.len() as u32);
            workload.tasks.push(TaskSpec { name, process, ..spec.clone() });
        }
        workload.templates.push(TaskSpec { process: named.unwrap_or(NEW_PROCESS), start_ns: 0, ..spec });
        Ok(())
    }

    fn add_barriers(&self, workload: &mut Workload) -> Result<(), Fault> {
        for (barrier, table) in (0..).zip(self.barriers.values()) {
            let comes = |task: &&TaskSpec| {
                let ops = &workload.programs[task.program as usize].ops;
                ops.contains(&Op::Barrier { barrier })
            };
            let users = workload.tasks.iter().filter(comes).count() as u32;
            let members = table.get_ref().members.unwrap_or(users);
            if members == 0 {
                let problem =
                    "no task comes to this barrier; expected members above 0, or a task that comes to it";
                return Err(Fault::new(table.span(), problem));
            }
            workload.barriers.push(Barrier { members, waiting: table.get_ref().waiting });
        }
        Ok(())
    }
}

fn made_pipe(table: &Spanned<PipeTable>) -> Result<Pipe, Fault> {
    let made = table.get_ref().kind.pipe();
    let capacity = table.get_ref().capacity.unwrap_or(u64::from(made.capacity_bytes));
    match u32::try_from(capacity) {
        Ok(capacity_bytes @ 1..) => Ok(Pipe { capacity_bytes, ..made }),
        _ => Err(Fault::new(table.span(), format!("capacity is {capacity} bytes; expected 1 to 4294967295"))),
    }
}

/// Names and their places; each may be given once.
fn unique<'a>(names: impl IntoIterator<Item = &'a Spanned<String>>) -> Result<BTreeMap<&'a str, u32>, Fault> {
    let mut known = BTreeMap::new();
    for (place, name) in (0..).zip(names) {
        if known.insert(name.get_ref().as_str(), place).is_some() {
            let problem = format!("\"{}\" is there already; expected a name of its own", name.get_ref());
            return Err(Fault::new(name.span(), problem));
        }
    }
    Ok(known)
}

/// A whole number in a range, 0 if it is not given.
fn within(
    given: Option<&Spanned<i64>>,
    what: &str,
    range: std::ops::RangeInclusive<i64>,
) -> Result<i64, Fault> {
    let Some(given) = given else { return Ok(0) };
    let value = *given.get_ref();
    if range.contains(&value) {
        return Ok(value);
    }
    Err(Fault::new(given.span(), format!("{what} is {value}; expected {} to {}", range.start(), range.end())))
}

/// The numbers of a machine's CPUs, for messages.
fn cpus(machine: &Machine) -> String {
    let ids = || machine.cpus.iter().map(|cpu| cpu.id);
    let (first, last) = (ids().min().unwrap_or_default(), ids().max().unwrap_or_default());
    format!("{} CPUs, {first} to {last}", machine.cpus.len())
}
