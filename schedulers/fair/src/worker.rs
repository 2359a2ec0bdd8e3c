//! Beside the BPF half: sets it up, hands it the shares, tells what was decided.

use crate::apps::Apps;
use crate::controller::{AppId, Controller};
use crate::events;
use crate::names::NamedNumbers;
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
use swtch_fairness::{Cores, Policy};
use swtch_scx::{Event, Reporter, Running, SchedulerError, Settings, Worker};

/// Shares and factors are parts of this in the BPF half.
const WHOLE: f64 = (1 << 20) as f64;
/// A task is busy when it ran for this part of an interval.
const BUSY: f64 = 0.1;
/// How often new applications are looked for.
const DISCOVERY: Duration = Duration::from_millis(200);
/// Where control groups are mounted.
const GROUPS: &str = "/sys/fs/cgroup";
/// The program of the BPF half that reads hardware counters.
const COUNTING: &str = "count_work";

/// Where speedups come from.
#[derive(Debug)]
pub enum Work {
    /// Instructions, counted by the hardware.
    Hardware,
    /// Applications count themselves; a folder has a file for each, named by its process, with the address of its count.
    Reported(PathBuf),
    /// Somebody has measured before.
    Given(NamedNumbers),
    /// Nobody knows, and the policy does not ask.
    Unknown,
}

/// What was asked for.
#[derive(Debug)]
pub struct Plan {
    /// CPUs of the fast kind.
    pub fast: Vec<u32>,
    /// How many CPUs there are.
    pub cpus: Vec<u32>,
    /// How fast cores are shared.
    pub policy: Policy,
    /// Time between computations of the shares.
    pub interval: Duration,
    /// A round.
    pub round: Duration,
    /// Where speedups come from.
    pub work: Work,
    /// How many times slower commands are made on slow CPUs.
    pub throttle: Option<NamedNumbers>,
    /// Applications are control groups instead of processes.
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
    /// When the machine has no fast or no slow cores by it.
    pub fn new(mut plan: Plan) -> Result<Self, SchedulerError> {
        let slow = plan.cpus.len() - plan.fast.len();
        let cores = Cores::new(plan.fast.len() as u32, slow as u32).map_err(|error| worker(&error))?;
        let apps =
            Rc::new(if plan.by_cgroup { Apps::groups_below(Path::new(GROUPS)) } else { Apps::Processes });
        let source: Box<dyn SpeedupSource> = match &mut plan.work {
            Work::Hardware => Box::new(Counted::by("instructions")),
            Work::Reported(_) => Box::new(Counted::by("reported progress")),
            Work::Given(numbers) => Box::new(Given::new(std::mem::take(numbers), Rc::clone(&apps))),
            Work::Unknown => Box::new(Counted::by("nothing")),
        };
        let controller = Controller::new(cores, plan.policy, source);
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
            for cpu in &self.plan.cpus {
                let counter = events::count_instructions(*cpu).map_err(|error| {
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
        let mut value = order(self.controller.equal_share(), 1.0).to_vec();
        value.extend(self.interval.to_ne_bytes());
        value.extend(((self.plan.interval.as_nanos() as f64 * BUSY) as u64).to_ne_bytes());
        update(running, "generals", &0_u32.to_ne_bytes(), &value)
    }

    fn slowdown(&self, app: AppId) -> f64 {
        let numbers = self.plan.throttle.as_ref();
        numbers.and_then(|numbers| numbers.get(&self.apps.name(app)?)).unwrap_or(1.0)
    }

    /// New applications are slowed down at once, not with the next shares.
    fn slow_down(&mut self, running: &Running) -> Result<(), SchedulerError> {
        if self.plan.throttle.is_none() {
            return Ok(());
        }
        for app in apps(running)? {
            if !self.slowed.contains(&app) {
                let value = order(self.controller.equal_share(), self.slowdown(app));
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
        let totals = self.totals(running)?;
        let start = Instant::now();
        let decisions = self.controller.step(&totals).map_err(|error| worker(&error))?.to_vec();
        let controller_ns = start.elapsed().as_nanos() as u64;
        self.interval += 1;
        self.set_general(running)?;
        let mut told = Vec::new();
        for decision in decisions {
            let value = order(decision.share, self.slowdown(decision.app));
            update(running, "orders", &decision.app.to_ne_bytes(), &value)?;
            told.push(json!({
                "app": decision.app, "name": self.apps.name(decision.app), "tasks": decision.tasks,
                "speedup": decision.speedup, "share": decision.share,
                "fast_ns": decision.used.fast_ns, "slow_ns": decision.used.slow_ns,
                "fast_work": decision.used.fast_work, "slow_work": decision.used.slow_work,
            }));
        }
        Ok(Map::from_iter([
            ("controller_ns".to_owned(), controller_ns.into()),
            ("applications".to_owned(), told.into()),
        ]))
    }

    /// What every application has had; those that have gone are taken out of the maps.
    fn totals(&mut self, running: &Running) -> Result<Vec<(AppId, Usage)>, SchedulerError> {
        let mut totals = Vec::new();
        let usages = running.map("usages")?;
        for app in apps(running)? {
            let key = app.to_ne_bytes();
            if !self.apps.is_there(app) {
                for name in ["usages", "orders", "reports"] {
                    // It may not be in every one.
                    let _ = running.map(name)?.delete(&key);
                }
                self.slowed.remove(&app);
                self.reporting.remove(&app);
                continue;
            }
            let value = usages.lookup(&key, MapFlags::ANY).map_err(failed("read what applications had"))?;
            totals.extend(value.and_then(|value| Usage::parse(&value)).map(|usage| (app, usage)));
        }
        Ok(totals)
    }
}

impl Worker for Fair {
    fn configure(&mut self, settings: &mut Settings) -> Result<Map<String, Value>, SchedulerError> {
        let most = self.plan.fast.iter().max().map_or(0, |cpu| *cpu as usize + 1);
        let mut kinds = vec![0_u8; most];
        self.plan.fast.iter().for_each(|cpu| kinds[*cpu as usize] = 1);
        settings.set_bytes("is_fast_cpu", &kinds)?;
        settings.set_u64("round_ns", self.plan.round.as_nanos() as u64)?;
        settings.set_u32("own_tgid", std::process::id())?;
        settings.set_bytes("by_cgroup", &[u8::from(self.plan.by_cgroup)])?;
        settings.set_bytes("holds_up", &[u8::from(self.plan.throttle.is_some())])?;
        if !matches!(self.plan.work, Work::Hardware) {
            settings.leave_out(COUNTING);
        }
        let fast: swtch_units::CpuList =
            self.plan.fast.iter().map(|cpu| swtch_units::CpuId::new(*cpu)).collect();
        Ok(Map::from_iter([
            ("policy".to_owned(), self.plan.policy.name().into()),
            ("fast_cpus".to_owned(), fast.to_string().into()),
            ("speedups_from".to_owned(), self.controller.source().name().into()),
            ("round_ns".to_owned(), (self.plan.round.as_nanos() as u64).into()),
            ("interval_ns".to_owned(), (self.plan.interval.as_nanos() as u64).into()),
            ("slow_cpus_are_throttled".to_owned(), self.plan.throttle.is_some().into()),
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
        }
        if elapsed >= self.next {
            self.next = elapsed + self.plan.interval;
            let fields = self.control(running)?;
            reporter.tell(&Event::Note {
                seconds: elapsed.as_secs_f64(),
                about: "shares".to_owned(),
                fields,
            });
        }
        Ok(())
    }
}

/// `struct order` of the BPF half.
fn order(share: f64, slowdown: f64) -> [u8; 8] {
    let part = |number: f64| ((number * WHOLE) as u32).to_ne_bytes();
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&part(share.clamp(0.0, 1.0)));
    bytes[4..].copy_from_slice(&part(slowdown));
    bytes
}

fn apps(running: &Running) -> Result<Vec<AppId>, SchedulerError> {
    let keys = running.map("usages")?;
    Ok(keys.keys().filter_map(|key| Some(u64::from_ne_bytes(key.try_into().ok()?))).collect())
}

fn update(running: &Running, map: &'static str, key: &[u8], value: &[u8]) -> Result<(), SchedulerError> {
    running.map(map)?.update(key, value, MapFlags::ANY).map_err(failed("write orders"))
}

fn failed(what: &'static str) -> impl Fn(libbpf_rs::Error) -> SchedulerError {
    move |source| SchedulerError::Bpf { what: what.to_owned(), source }
}

fn worker(error: &swtch_fairness::FairnessError) -> SchedulerError {
    SchedulerError::Worker(error.to_string())
}
