//! Next to the BPF half: sets it up, hands it the shares, reports what was decided.

use crate::apps::Apps;
use crate::controller::{AppId, Controller, Decision};
use crate::events;
use crate::kinds::{ByKind, KINDS, Kinds};
use crate::maps::{self, ORDER_BYTES, order};
use crate::source::{Counted, Given, SpeedupSource};
use crate::usage::Usage;
use libbpf_rs::{MapCore, MapFlags};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use swtch_fairness::Policy;
use swtch_scx::{NamedNumbers, Reporter, Running, SchedulerError, SchedulerEvent, Settings, Worker};
use swtch_units::CpuList;

/// CPUs that the BPF half knows (`MAX_CPUS`).
const MAX_CPUS: usize = 1024;
/// In one of this number of intervals tasks are swapped although it makes no difference, so that it is seen when it does.
const LOOKS_AGAIN: u64 = 10;
/// A task is busy when it ran for this part of an interval.
const BUSY: f64 = 0.1;
/// How often new applications are looked for.
const DISCOVERY: Duration = Duration::from_millis(200);
/// Where cgroups are mounted.
const GROUPS: &str = "/sys/fs/cgroup";
/// The program of the BPF half that reads hardware counters.
const COUNTING: &str = "count_work";

/// Where speedups come from.
#[derive(Debug)]
pub enum Work {
    /// Instructions, counted by the hardware.
    Hardware,
    /// Applications count themselves; a directory has a file for each, named by its process, with the address of its count.
    Reported(PathBuf),
    /// Measured before.
    Given(NamedNumbers),
    /// Unknown, and the policy does not ask.
    Unknown,
}

/// What was asked for.
#[derive(Debug)]
pub struct Plan {
    /// The CPUs by kind.
    pub kinds: Kinds,
    /// How they are shared.
    pub policy: Policy,
    /// Time between computations of the shares.
    pub interval: Duration,
    /// A round.
    pub round: Duration,
    /// Where speedups come from.
    pub work: Work,
    /// How many times slower than on the fastest kind of CPUs commands are made on each of the others.
    pub throttle: Option<NamedNumbers>,
    /// Applications are cgroups instead of processes.
    pub by_cgroup: bool,
}

/// The user-space half.
pub struct Fair {
    plan: Plan,
    apps: Rc<Apps>,
    controller: Controller<Box<dyn SpeedupSource>>,
    interval: u64,
    next: Duration,
    next_discovery: Duration,
    /// Applications that have an order or report their work already.
    slowed: BTreeSet<AppId>,
    reporting: BTreeSet<AppId>,
    counters: Vec<File>,
    is_started: bool,
}

impl Fair {
    /// By a plan.
    ///
    /// # Errors
    /// When the policy is for two kinds of cores and there are more.
    pub fn new(mut plan: Plan) -> Result<Self, SchedulerError> {
        let kinds = plan.kinds.cpus().len();
        let apps =
            Rc::new(if plan.by_cgroup { Apps::groups_below(Path::new(GROUPS)) } else { Apps::Processes });
        let source: Box<dyn SpeedupSource> = match &mut plan.work {
            Work::Hardware => Box::new(Counted::by("instructions", kinds)),
            Work::Reported(_) => Box::new(Counted::by("reported progress", kinds)),
            Work::Given(numbers) => Box::new(Given::new(std::mem::take(numbers), Rc::clone(&apps))),
            Work::Unknown => Box::new(Counted::by("nothing", kinds)),
        };
        let controller = Controller::new(&plan.kinds.counts(), plan.policy, source)
            .map_err(|error| SchedulerError::Worker(error.to_string()))?;
        let next = plan.interval;
        Ok(Self {
            plan,
            apps,
            controller,
            interval: 1,
            next,
            next_discovery: Duration::ZERO,
            slowed: BTreeSet::new(),
            reporting: BTreeSet::new(),
            counters: Vec::new(),
            is_started: false,
        })
    }

    /// Once it runs: general orders, and counters where they are wanted.
    fn start(&mut self, running: &Running) -> Result<(), SchedulerError> {
        self.is_started = true;
        self.set_general(running)?;
        if matches!(self.plan.work, Work::Hardware) {
            for cpu in self.plan.kinds.cpus().iter().flat_map(CpuList::numbers) {
                let counter = events::count_instructions(cpu).map_err(|error| {
                    SchedulerError::Worker(format!(
                        "no counter of instructions on CPU {cpu} ({error}); give --speedups or --progress"
                    ))
                })?;
                let fd = counter.as_raw_fd().to_ne_bytes();
                update(running, "events", &cpu.to_ne_bytes(), &fd)?;
                self.counters.push(counter);
            }
            running.attach_program(COUNTING)?;
        }
        Ok(())
    }

    /// What holds for applications without an order of their own, and which interval this is.
    fn set_general(&self, running: &Running) -> Result<(), SchedulerError> {
        let mut value = self.order(&self.controller.equal_shares(), &NOT_AT_ALL, OWN_WEIGHT).to_vec();
        value.extend(self.interval.to_ne_bytes());
        value.extend(((self.plan.interval.as_nanos() as f64 * BUSY) as u64).to_ne_bytes());
        value.extend(u64::from(self.stays()).to_ne_bytes());
        update(running, "generals", &0_u32.to_ne_bytes(), &value)
    }

    /// Whether no task is to be swapped, because no application is faster on one kind of core than on another. Speedups that are sampled are looked at again
    /// now and then.
    fn stays(&self) -> bool {
        let looks_again = self.controller.source().is_sampled() && self.interval.is_multiple_of(LOOKS_AGAIN);
        !looks_again && self.controller.all_kinds_are_alike()
    }

    /// How many times slower than on the fastest kind of core it is made.
    fn slowdown(&self, app: AppId) -> ByKind<f64> {
        let mut slowdown = NOT_AT_ALL;
        let name = self.plan.throttle.as_ref().and_then(|numbers| Some((numbers, self.apps.name(app)?)));
        let numbers = name.as_ref().and_then(|(numbers, name)| numbers.get(name)).unwrap_or_default();
        for (slowdown, number) in slowdown.iter_mut().skip(1).zip(numbers) {
            *slowdown = *number;
        }
        slowdown
    }

    fn order(&self, shares: &ByKind<f64>, slowdown: &ByKind<f64>, weight: f64) -> [u8; ORDER_BYTES] {
        order(&shares[..self.controller.kinds()], slowdown, weight)
    }

    /// The weight of each of an application's tasks, where it is the application that has one.
    fn task_weight(&self, decision: &Decision) -> f64 {
        match self.apps.weight(decision.app) {
            Some(weight) => weight / f64::from(decision.tasks.max(1)),
            None => OWN_WEIGHT,
        }
    }

    /// New applications are slowed down at once, not with the next shares.
    fn slow_down(&mut self, running: &Running) -> Result<(), SchedulerError> {
        if self.plan.throttle.is_none() {
            return Ok(());
        }
        for (app, _) in usages(running)? {
            if !self.slowed.contains(&app) {
                let value = self.order(&self.controller.equal_shares(), &self.slowdown(app), OWN_WEIGHT);
                update(running, "orders", &app.to_ne_bytes(), &value)?;
                self.slowed.insert(app);
            }
        }
        Ok(())
    }

    /// Tells the BPF half where applications count their work.
    fn find_reports(&mut self, running: &Running) -> Result<(), SchedulerError> {
        let Work::Reported(folder) = &self.plan.work else { return Ok(()) };
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(app) = entry.file_name().to_str().and_then(|name| name.parse::<AppId>().ok()) else {
                continue;
            };
            if self.reporting.contains(&app) {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let digits = text.trim().trim_start_matches("0x");
            if let Ok(address) = u64::from_str_radix(digits, 16) {
                update(running, "reports", &app.to_ne_bytes(), &address.to_ne_bytes())?;
                self.reporting.insert(app);
            }
        }
        Ok(())
    }

    /// The end of an interval: usage in, shares out.
    fn control(&mut self, running: &Running) -> Result<Map<String, Value>, SchedulerError> {
        let whole = Instant::now();
        let totals = self.totals(running)?;
        let start = Instant::now();
        let apps = Rc::clone(&self.apps);
        let found = self.controller.step(&totals, |app| apps.weight(app)).map(<[Decision]>::to_vec);
        let decisions = found.map_err(|error| SchedulerError::Worker(error.to_string()))?;
        let controller_ns = start.elapsed().as_nanos() as u64;
        self.interval += 1;
        self.set_general(running)?;
        self.give_orders(running, &decisions)?;
        let whole_ns = whole.elapsed().as_nanos() as u64;
        Ok(self.decided(&decisions, controller_ns, whole_ns))
    }

    /// Within an interval: which applications have come or gone?
    fn revise(&mut self, running: &Running) -> Result<Option<Map<String, Value>>, SchedulerError> {
        let whole = Instant::now();
        let totals = self.totals(running)?;
        let start = Instant::now();
        let apps = Rc::clone(&self.apps);
        let found = self.controller.revise(&totals, |app| apps.weight(app));
        let found = found.map_err(|error| SchedulerError::Worker(error.to_string()))?;
        let Some(decisions) = found.map(<[Decision]>::to_vec) else { return Ok(None) };
        let controller_ns = start.elapsed().as_nanos() as u64;
        self.set_general(running)?;
        self.give_orders(running, &decisions)?;
        let mut fields = self.decided(&decisions, controller_ns, whole.elapsed().as_nanos() as u64);
        // What they had is of a part of the interval, and is in the whole one's again.
        fields.insert("within_interval".to_owned(), true.into());
        Ok(Some(fields))
    }

    fn give_orders(&self, running: &Running, decisions: &[Decision]) -> Result<(), SchedulerError> {
        let order = |decision: &Decision| {
            let slowdown = self.slowdown(decision.app);
            (decision.app, self.order(&decision.shares, &slowdown, self.task_weight(decision)))
        };
        let orders: Vec<_> = decisions.iter().map(order).collect();
        maps::give(&running.map("orders")?, &orders).map_err(failed("write orders"))
    }

    /// What was decided, and how long computing it took, without and with the kernel's maps.
    fn decided(&self, decisions: &[Decision], controller_ns: u64, whole_ns: u64) -> Map<String, Value> {
        let kinds = self.controller.kinds();
        let one = |decision: &Decision| {
            json!({
                "app": decision.app, "name": self.apps.name(decision.app), "tasks": decision.tasks,
                "weight": decision.weight,
                "speedups": decision.speedups.map(|speedups| speedups[..kinds - 1].to_vec()),
                "shares": decision.shares[..kinds],
                "ran_ns": decision.used.ran_ns[..kinds], "work": decision.used.work[..kinds],
            })
        };
        Map::from_iter([
            ("controller_ns".to_owned(), controller_ns.into()),
            ("controller_with_maps_ns".to_owned(), whole_ns.into()),
            ("applications".to_owned(), decisions.iter().map(one).collect::<Vec<_>>().into()),
        ])
    }

    /// What every application has had; those that have gone are taken out of the maps.
    fn totals(&mut self, running: &Running) -> Result<Vec<(AppId, Usage)>, SchedulerError> {
        let (there, gone): (Vec<_>, Vec<_>) =
            usages(running)?.into_iter().partition(|(app, _)| self.apps.is_there(*app));
        for (app, _) in gone {
            for name in ["usages", "orders", "reports"] {
                // It may not be in every one.
                let _ = running.map(name)?.delete(&app.to_ne_bytes());
            }
            self.slowed.remove(&app);
            self.reporting.remove(&app);
        }
        Ok(there)
    }
}

impl Worker for Fair {
    fn configure(&mut self, settings: &mut Settings) -> Result<Map<String, Value>, SchedulerError> {
        let lists = self.plan.kinds.cpus();
        // Of what is plugged in later nothing is known: it counts as slow.
        let mut kinds = vec![lists.len() as u8 - 1; MAX_CPUS];
        for (kind, list) in lists.iter().enumerate() {
            for cpu in list.numbers() {
                let place = kinds.get_mut(cpu as usize);
                *place.ok_or_else(|| SchedulerError::Worker(too_many(cpu)))? = kind as u8;
            }
        }
        settings.set_bytes("kind_of_cpu", &kinds)?;
        let cpus = lists.iter().map(|list| list.numbers().len()).sum();
        settings.set_entries("usages", maps::applications_at_most(cpus))?;
        settings.set_u32("nr_kinds", lists.len() as u32)?;
        settings.set_u64("round_ns", self.plan.round.as_nanos() as u64)?;
        settings.set_u32("own_tgid", std::process::id())?;
        settings.set_bytes("by_cgroup", &[u8::from(self.plan.by_cgroup)])?;
        settings.set_bytes("holds_up", &[u8::from(self.plan.throttle.is_some())])?;
        if !matches!(self.plan.work, Work::Hardware) {
            settings.leave_out(COUNTING);
        }
        let kinds: Vec<String> = lists.iter().map(CpuList::to_string).collect();
        Ok(Map::from_iter([
            ("policy".to_owned(), self.plan.policy.name().into()),
            ("kinds".to_owned(), kinds.join("/").into()),
            ("speedups_from".to_owned(), self.controller.source().name().into()),
            ("round_ns".to_owned(), (self.plan.round.as_nanos() as u64).into()),
            ("interval_ns".to_owned(), (self.plan.interval.as_nanos() as u64).into()),
            ("slower_cpus_are_throttled".to_owned(), self.plan.throttle.is_some().into()),
        ]))
    }

    fn work(
        &mut self,
        running: &Running,
        reporter: &Reporter,
        elapsed: Duration,
    ) -> Result<(), SchedulerError> {
        if !self.is_started {
            self.start(running)?;
        }
        if elapsed >= self.next_discovery {
            self.next_discovery = elapsed + DISCOVERY;
            self.find_reports(running)?;
            self.slow_down(running)?;
            if elapsed < self.next
                && let Some(fields) = self.revise(running)?
            {
                report(reporter, elapsed, fields);
            }
        }
        if elapsed >= self.next {
            self.next = elapsed + self.plan.interval;
            let fields = self.control(running)?;
            report(reporter, elapsed, fields);
        }
        Ok(())
    }
}

fn report(reporter: &Reporter, elapsed: Duration, fields: Map<String, Value>) {
    let (seconds, about) = (elapsed.as_secs_f64(), "shares".to_owned());
    reporter.report(&SchedulerEvent::Note { seconds, about, fields });
}

/// No task is made slower anywhere.
const NOT_AT_ALL: ByKind<f64> = [1.0; KINDS];
/// Tasks go by their own weights.
const OWN_WEIGHT: f64 = 0.0;

fn too_many(cpu: u32) -> String {
    format!(
        "CPU {cpu} is one too many: at most {MAX_CPUS} CPUs are known to the scheduler (MAX_CPUS of fair.bpf.c)"
    )
}

fn usages(running: &Running) -> Result<Vec<(AppId, Usage)>, SchedulerError> {
    maps::usages(&running.map("usages")?).map_err(failed("read what applications had"))
}

fn update(running: &Running, map: &'static str, key: &[u8], value: &[u8]) -> Result<(), SchedulerError> {
    running.map(map)?.update(key, value, MapFlags::ANY).map_err(failed("write orders"))
}

fn failed(what: &'static str) -> impl Fn(libbpf_rs::Error) -> SchedulerError {
    move |source| SchedulerError::Bpf { what: what.to_owned(), source }
}
