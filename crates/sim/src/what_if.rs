//! What if: changes to tasks of a recording, and tasks beside them, as they are written on a command line.

use crate::error::SimError;
use crate::machine::Machine;
use crate::program::Op;
use crate::spec::cgroups::{quota, shares_of};
use crate::workload::{Cgroup, Quota, TaskClass, Workload};
use crate::workloads::replay::{Changes, names, no_such_task};
use std::collections::BTreeSet;
use swtch_units::{CpuId, CpuList};

/// What is changed, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhatIf {
    /// `NAME:nice=19,policy=idle,cpus=0-1,threads=2`: of tasks by name.
    pub set: Vec<String>,
    /// Workloads that run beside the others, by name such as `spin:tasks=2,work_ns=0`, or `FILE.toml`.
    pub with: Vec<String>,
    /// Tasks that are taken away, by name.
    pub without: Vec<String>,
}

impl WhatIf {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.with.is_empty() && self.without.is_empty()
    }

    /// The changes in words, one each.
    pub(crate) fn words(&self) -> Vec<String> {
        let with = self.with.iter().map(|work| format!("{work} beside"));
        let without = self.without.iter().map(|name| format!("no {name}"));
        self.set.iter().cloned().chain(with).chain(without).collect()
    }

    /// The changes to single tasks.
    ///
    /// # Errors
    /// When one is not of the form that is expected.
    pub(crate) fn settings(&self) -> Result<Vec<TaskSetting>, SimError> {
        self.set.iter().map(|text| TaskSetting::read(text)).collect()
    }

    /// What of it changes how the recording is read.
    pub(crate) fn changes(&self, settings: &[TaskSetting]) -> Changes {
        let threads = settings.iter().filter_map(|one| Some((one.name.clone(), one.threads?)));
        Changes { without: self.without.clone(), threads: threads.collect() }
    }
}

/// What is set of the tasks of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskSetting {
    text: String,
    pub(crate) name: String,
    nice: Option<i8>,
    class: Option<TaskClass>,
    cpus: Option<Vec<CpuId>>,
    threads: Option<u32>,
    /// A cgroup of their own: its shares.
    shares: Option<u32>,
    /// Its quota.
    quota: Option<Quota>,
}

const KEYS: &str = "nice=-20 to 19, policy=other, batch or idle, cpus=LIST, threads=N, weight=1 to 10000 and max=QUOTA/PERIOD in us";

impl TaskSetting {
    fn read(text: &str) -> Result<Self, SimError> {
        let wrong = |problem: String| SimError::input(format!("--set {text}"), problem);
        let form = || wrong(format!("expected NAME:KEY=VALUE with {KEYS}"));
        let (name, keys) = text.rsplit_once(':').ok_or_else(form)?;
        if name.is_empty() || keys.is_empty() {
            return Err(form());
        }
        let mut setting = Self { text: text.to_owned(), name: name.to_owned(), ..Self::default() };
        // A list of CPUs has commas too.
        let mut pairs: Vec<(String, String)> = Vec::new();
        for part in keys.split(',') {
            match (part.split_once('='), pairs.last_mut()) {
                (Some((key, value)), _) => pairs.push((key.trim().to_owned(), value.trim().to_owned())),
                (None, Some((_, value))) => *value += &format!(",{part}"),
                (None, None) => return Err(form()),
            }
        }
        for (key, value) in pairs {
            let expected = |what: &str| wrong(format!("{key} is \"{value}\"; expected {what}"));
            match key.as_str() {
                "nice" => {
                    let nice = value.parse().ok().filter(|nice| (-20..=19).contains(nice));
                    setting.nice = Some(nice.ok_or_else(|| expected("-20 to 19"))?);
                }
                "policy" => setting.class = Some(class(&value).ok_or_else(|| expected(CLASSES))?),
                "cpus" => {
                    let list = value.parse::<CpuList>().ok().filter(|list| !list.cpus().is_empty());
                    setting.cpus = Some(list.ok_or_else(|| expected("CPUs such as 0-3,8"))?.cpus().to_vec());
                }
                "threads" => {
                    let threads = value.parse().ok().filter(|threads| *threads > 0);
                    setting.threads = Some(threads.ok_or_else(|| expected("a number of threads"))?);
                }
                "weight" => {
                    let weight = value.parse().map_err(|_| expected("1 to 10000"))?;
                    setting.shares = Some(shares_of(weight).map_err(wrong)?);
                }
                "max" => setting.quota = quota(&value.replace('/', " ")).map_err(wrong)?,
                _ => return Err(wrong(format!("there is no {key}; expected {KEYS}"))),
            }
        }
        Ok(setting)
    }

    pub(crate) fn apply(&self, workload: &mut Workload, machine: &Machine) -> Result<(), SimError> {
        let cpus = self.cpus.iter().flatten();
        if let Some(cpu) = cpus.copied().find(|cpu| machine.place_of(*cpu).is_none()) {
            let problem = format!("there is no CPU {cpu}; {} has {} CPUs", machine.name, machine.cpus.len());
            return Err(SimError::input(format!("--set {}", self.text), problem));
        }
        if !workload.tasks.iter().any(|task| names(&self.name, &task.name)) {
            return Err(no_such_task(&self.name, workload.tasks.iter().map(|task| task.name.as_str())));
        }
        let cgroup = (self.shares.is_some() || self.quota.is_some()).then(|| {
            let shares = self.shares.unwrap_or(USUAL_SHARES);
            workload.cgroups.push(Cgroup {
                name: self.name.clone(),
                parent: None,
                shares,
                quota: self.quota,
            });
            workload.cgroups.len() as u32 - 1
        });
        for task in workload.tasks.iter_mut().filter(|task| names(&self.name, &task.name)) {
            task.cgroup = cgroup.or(task.cgroup);
            task.nice = self.nice.unwrap_or(task.nice);
            task.class = self.class.unwrap_or(task.class);
            if let Some(cpus) = &self.cpus {
                task.allowed.clone_from(cpus);
            }
        }
        Ok(())
    }
}

/// The shares of `cpu.weight` 100.
const USUAL_SHARES: u32 = 1024;
const CLASSES: &str = "other, batch or idle; no class goes before the fair one here";

fn class(name: &str) -> Option<TaskClass> {
    Some(match name {
        "other" => TaskClass::Normal,
        "batch" => TaskClass::Batch,
        "idle" => TaskClass::Idle,
        _ => return None,
    })
}

impl Workload {
    /// Takes the CPUs that a machine does not have from its tasks; one that keeps none may use all, and is counted.
    pub(crate) fn confine(&mut self, machine: &Machine) -> usize {
        let there: BTreeSet<CpuId> = machine.cpus.iter().map(|cpu| cpu.id).collect();
        let mut freed = 0;
        for task in self.tasks.iter_mut().filter(|task| !task.allowed.is_empty()) {
            task.allowed.retain(|cpu| there.contains(cpu));
            freed += usize::from(task.allowed.is_empty());
            if task.allowed.len() == there.len() {
                task.allowed.clear();
            }
        }
        freed
    }

    /// Adds the tasks of another workload; they are not waited for.
    pub(crate) fn append_beside(&mut self, other: Self) {
        let Places {
            programs,
            applications,
            templates,
            pipes,
            locks,
            conditions,
            barriers,
            teams,
            semaphores,
            cgroups,
        } = Places::of(self);
        let move_op = |op: &mut Op| match op {
            Op::Send { pipe, .. } | Op::Receive { pipe, .. } => *pipe += pipes,
            Op::Lock { lock } | Op::Unlock { lock } => *lock += locks,
            Op::Wait { condition, lock } => {
                *condition += conditions;
                *lock += locks;
            }
            Op::Signal { condition } | Op::Broadcast { condition } => *condition += conditions,
            Op::Barrier { barrier } => *barrier += barriers,
            Op::Open { team, .. } | Op::Share { team, .. } | Op::Join { team } | Op::Attend { team } => {
                *team += teams;
            }
            Op::Post { semaphore } | Op::Answer { semaphore } | Op::Acquire { semaphore } => {
                *semaphore += semaphores;
            }
            Op::Ask { semaphore, answer } => {
                *semaphore += semaphores;
                *answer += semaphores;
            }
            Op::PostAll { first, last } => {
                *first += semaphores;
                *last += semaphores;
            }
            Op::Fork { template } | Op::Kill { template } | Op::WaitFor { template } => {
                *template += templates;
            }
            Op::Become { application } => *application += applications,
            _ => {}
        };
        let first_process = self.tasks.iter().map(|task| task.process).max().unwrap_or(0) + 1;
        let mut other = other;
        other.programs.iter_mut().flat_map(|program| &mut program.ops).for_each(move_op);
        for task in other.tasks.iter_mut().chain(&mut other.templates) {
            task.program += programs;
            task.application = task.application.map(|application| application + applications);
            task.process = task.process.saturating_add(first_process);
            task.cgroup = task.cgroup.map(|cgroup| cgroup + cgroups);
            task.background = true;
        }
        self.programs.append(&mut other.programs);
        self.applications.append(&mut other.applications);
        self.tasks.append(&mut other.tasks);
        self.templates.append(&mut other.templates);
        self.pipes.append(&mut other.pipes);
        self.locks += other.locks;
        self.conditions += other.conditions;
        self.barriers.append(&mut other.barriers);
        self.teams.append(&mut other.teams);
        self.semaphores.append(&mut other.semaphores);
        for cgroup in &mut other.cgroups {
            cgroup.parent = cgroup.parent.map(|parent| parent + cgroups);
        }
        self.cgroups.append(&mut other.cgroups);
    }
}

/// How many of each there are: where those of another workload begin.
struct Places {
    programs: u32,
    applications: u32,
    templates: u32,
    pipes: u32,
    locks: u32,
    conditions: u32,
    barriers: u32,
    teams: u32,
    semaphores: u32,
    cgroups: u32,
}

impl Places {
    fn of(workload: &Workload) -> Self {
        Self {
            programs: workload.programs.len() as u32,
            applications: workload.applications.len() as u32,
            templates: workload.templates.len() as u32,
            pipes: workload.pipes.len() as u32,
            locks: workload.locks,
            conditions: workload.conditions,
            barriers: workload.barriers.len() as u32,
            teams: workload.teams.len() as u32,
            semaphores: workload.semaphores.len() as u32,
            cgroups: workload.cgroups.len() as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;
    use crate::workload::TaskSpec;

    #[test]
    fn a_setting_has_its_keys_and_lists_keep_their_commas() {
        let capped = TaskSetting::read("web:weight=200,max=50000/100000").unwrap();
        let quota = Quota { runtime_ns: 50_000_000, period_ns: 100_000_000 };
        assert_eq!((capped.shares, capped.quota), (Some(2048), Some(quota)));
        let found = TaskSetting::read("web:nice=19,cpus=0,2-3,policy=idle,threads=2").unwrap();
        assert_eq!((found.name.as_str(), found.nice, found.threads), ("web", Some(19), Some(2)));
        assert_eq!(found.class, Some(TaskClass::Idle));
        assert_eq!(found.cpus, Some([0, 2, 3].map(CpuId::new).to_vec()));
        // A name may have a colon.
        assert_eq!(TaskSetting::read("kworker/0:1:nice=1").unwrap().name, "kworker/0:1");
        for text in [
            "web",
            "web:",
            ":nice=1",
            "web:nice=20",
            "web:policy=fifo",
            "web:cpus=",
            "web:threads=0",
            "web:x=1",
            "web:weight=0",
            "web:max=0",
        ] {
            let error = TaskSetting::read(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--set {text}: ")) && error.contains("expected"), "{error}");
        }
    }

    #[test]
    fn settings_reach_tasks_by_name_and_only_those() {
        let machine = Machine::uniform(2);
        let task = |name: &str| TaskSpec { name: name.to_owned(), ..TaskSpec::default() };
        let workload = || Workload {
            tasks: vec![task("web-1/7"), task("web-2/8"), task("db/9")],
            ..Workload::default()
        };
        let nices = |set: &str| {
            let what_if = WhatIf { set: vec![set.to_owned()], ..WhatIf::default() };
            let mut workload = workload();
            what_if.settings()?.iter().try_for_each(|one| one.apply(&mut workload, &machine))?;
            Ok::<_, SimError>(workload.tasks.iter().map(|task| task.nice).collect::<Vec<_>>())
        };
        assert_eq!(nices("web:nice=3").unwrap(), [3, 3, 0]);
        assert_eq!(nices("web-2:nice=3").unwrap(), [0, 3, 0]);
        assert_eq!(nices("db/9:nice=3").unwrap(), [0, 0, 3]);
        assert_eq!(nices("w*:nice=3").unwrap(), [3, 3, 0]);
        let error = nices("nginx:nice=3").unwrap_err().to_string();
        assert_eq!(error, "there is no task \"nginx\"; there are db, web");
        assert!(nices("db:cpus=2").unwrap_err().to_string().contains("there is no CPU 2"));
    }

    #[test]
    fn a_workload_beside_keeps_its_own_objects() {
        let machine = Machine::uniform(2);
        let of = |text: &str| Spec::of_name(text).unwrap().workload(&machine).unwrap();
        let mut workload = of("ping-pong:pairs=2,loops=3");
        let (tasks, pipes) = (workload.tasks.len(), workload.pipes.len());
        workload.append_beside(of("ping-pong:pairs=1,loops=5"));
        assert_eq!(workload.check(&machine), Ok(()));
        assert!(workload.tasks[tasks..].iter().all(|task| task.background));
        let ops = &workload.programs[workload.tasks[tasks].program as usize].ops;
        let own = ops.iter().filter_map(|op| match op {
            Op::Send { pipe, .. } | Op::Receive { pipe, .. } => Some(*pipe as usize),
            _ => None,
        });
        assert!(own.clone().count() > 0 && own.clone().all(|pipe| pipe >= pipes));
    }
}
