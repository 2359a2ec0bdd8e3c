//! Which code gives up its CPU, is interrupted, or wakes others, where that is asked for.

use super::collector::Collector;
use crate::options::{Options, Target};
use crate::session::members::Members;
use crate::sources::stacks::{NewStack, Rule, StackCounts, StackKey, StackPrograms};
use crate::stacks::processes::{Found, Processes};
use crate::stacks::symbols::Symbols;
use crate::stacks::unwind;
use crate::system::{Cgroup, Snapshot};
use crate::task_info;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use swtch_trace::accumulate::Tables;
use swtch_trace::fields;
use swtch_trace::model::{Field, Header, Lost};
use swtch_trace::tables::{StackReason, StackRow, TaskRow};

/// Most frames of a program's stack.
const MOST_FRAMES: usize = 128;
/// The name of what interrupts do.
const INTERRUPT: &str = "[interrupt]";

/// What identifies a row of the Trace.
type RowKey = (StackReason, String, String);

/// A row of the kernel's table: its process, and the stack.
struct Seen {
    stack: NewStack,
    /// The row of the Trace, once the addresses have names.
    row: Option<RowKey>,
}

/// The stacks, or why there are none.
pub(super) struct Stacks(Result<Watched, String>);

struct Watched {
    programs: StackPrograms,
    processes: Processes,
    symbols: Symbols,
    members: Members,
    /// A command is about to be started by this thread, which is followed until then.
    starting: bool,
    /// Our own process, unless it is asked for.
    left_out: Option<u32>,
    seen: HashMap<StackKey, Seen>,
    /// Rules that are known, by process and address of the instruction; the kernel has them.
    rules: HashMap<u32, HashMap<u64, Rule>>,
    /// Rules for which the kernel had no place.
    no_place: u64,
    /// What ended processes came to.
    ended: BTreeMap<RowKey, StackCounts>,
    functions: HashMap<String, String>,
    /// Files that do not say how callers are found.
    without_rules: BTreeSet<String>,
}

impl Stacks {
    /// Begins, before a command is started: its first switch is seen too.
    pub(super) fn begin(options: &Options, group: Option<&Cgroup>, entries: u32) -> Self {
        Self(Watched::begin(options, group, entries).map_err(|error| error.to_string()))
    }
}

impl Watched {
    fn begin(options: &Options, group: Option<&Cgroup>, entries: u32) -> Result<Self, crate::RecordError> {
        let scoped = options.target != Target::Machine;
        let mut programs = StackPrograms::load(scoped, entries, u64::MAX)?;
        let processes = Processes::begin(libbpf_cpus());
        programs.attach()?;
        let mut members = Members::of(&options.target, group);
        let starting = matches!(options.target, Target::Command(_));
        if scoped {
            members.tids().into_iter().for_each(|tid| programs.set_followed(tid, true));
        }
        if starting {
            programs.set_followed(task_info::own_tid(), true);
        }
        Ok(Self {
            programs,
            processes,
            symbols: Symbols::new(),
            members,
            starting,
            left_out: starting.then(std::process::id),
            seen: HashMap::new(),
            rules: HashMap::new(),
            no_place: 0,
            ended: BTreeMap::new(),
            functions: HashMap::new(),
            without_rules: BTreeSet::new(),
        })
    }

    fn poll(&mut self, now_ns: u64) {
        for tid in self.members.newcomers(now_ns) {
            self.programs.set_followed(tid, true);
        }
        let (renewed, ended) = self.processes.poll();
        for pid in renewed.iter().chain(&ended) {
            self.forget_rules(*pid);
        }
        for stack in self.programs.drain() {
            self.take(stack);
        }
        self.settle(&ended);
    }

    /// Takes a new stack: walks it by what its files say, and tells the kernel's side the rules.
    fn take(&mut self, mut stack: NewStack) {
        if self.left_out == Some(stack.pid) {
            return;
        }
        let (pid, at_ns) = (stack.pid, stack.at_ns);
        if !stack.user.is_empty() {
            for (index, address) in stack.user.iter().enumerate() {
                self.rule(pid, if index == 0 { *address } else { address.saturating_sub(1) }, at_ns);
            }
            if !stack.copy.is_empty() {
                let copy = std::mem::take(&mut stack.copy);
                let walked = unwind::walk(stack.registers, &copy, MOST_FRAMES, |address| {
                    self.rule(pid, address, at_ns)
                });
                stack.user = walked;
            }
        }
        self.seen.insert(stack.key, Seen { stack, row: None });
    }

    /// Finds the rule for the caller of an instruction, and hands it to the kernel's side.
    fn rule(&mut self, pid: u32, address: u64, at_ns: u64) -> Rule {
        if let Some(rule) = self.rules.get(&pid).and_then(|rules| rules.get(&address)) {
            return *rule;
        }
        let rule = match self.processes.find(pid, address, at_ns) {
            Found::Nothing => Rule::End,
            Found::Written => self.symbols.rule_of_written(&mut self.processes, pid, address),
            Found::File { file, offset } => {
                let file = &mut self.processes.files[file];
                let path = file.path.clone();
                let binary = file.binary();
                if !binary.knows_callers() && !self.without_rules.contains(&path) {
                    self.without_rules.insert(path);
                }
                binary.rule(offset)
            }
        };
        self.rules.entry(pid).or_default().insert(address, rule);
        if !self.programs.set_rule(pid, address, rule) {
            self.no_place += 1;
        }
        rule
    }

    fn forget_rules(&mut self, pid: u32) {
        for address in self.rules.remove(&pid).unwrap_or_default().into_keys() {
            self.programs.forget_rule(pid, address);
        }
    }

    /// Adds up what processes came to that have ended, and makes place for others.
    fn settle(&mut self, ended: &[u32]) {
        let ended: HashSet<u32> = ended.iter().copied().filter(|pid| !task_info::is_there(*pid)).collect();
        if ended.is_empty() {
            return;
        }
        let keys: Vec<StackKey> = self
            .seen
            .iter()
            .filter(|(_, seen)| ended.contains(&seen.stack.pid))
            .map(|(key, _)| *key)
            .collect();
        for key in keys {
            let (Some(row), Some(counts)) = (self.row(&key), self.programs.counts(&key)) else { continue };
            add(&mut self.ended, row, counts);
            self.programs.forget(&key);
            self.seen.remove(&key);
        }
        self.processes.forget(&ended);
    }

    /// The row of the Trace to which a row of the kernel's table belongs.
    fn row(&mut self, key: &StackKey) -> Option<RowKey> {
        let seen = self.seen.get_mut(key)?;
        if seen.row.is_some() {
            return seen.row.clone();
        }
        let named = self.symbols.name(&mut self.processes, &seen.stack);
        let task = if named.interrupt && seen.stack.reason == StackReason::Wake {
            INTERRUPT.to_owned()
        } else {
            seen.stack.comm.clone()
        };
        self.functions.insert(named.frames.clone(), named.function);
        let row = (seen.stack.reason, task, named.frames);
        // A program may name its code later, at its end for example.
        if !named.unnamed_code {
            seen.row = Some(row.clone());
        }
        Some(row)
    }

    fn rows(&mut self) -> BTreeMap<RowKey, StackCounts> {
        let mut rows = self.ended.clone();
        for key in self.seen.keys().copied().collect::<Vec<_>>() {
            if let (Some(counts), Some(row)) = (self.programs.counts(&key), self.row(&key)) {
                add(&mut rows, row, counts);
            }
        }
        rows
    }

    fn add(&mut self, header: &mut Header, tables: &mut Tables) {
        let costs = costs(&tables.tasks);
        let rows = self.rows();
        tables.stacks = rows
            .into_iter()
            .map(|((reason, task, frames), counts)| StackRow {
                function: self.functions.get(&frames).cloned().unwrap_or_default(),
                cost_ns: match reason {
                    StackReason::Wake => None,
                    _ => costs.get(task.as_str()).map(|ns| (ns * counts.switches as f64) as u64),
                },
                reason,
                task,
                frames,
                switches: counts.switches,
                off_cpu_ns: counts.off_cpu_ns,
                wait_ns: counts.wait_ns,
            })
            .collect();
        tables.stacks.sort_by_key(|row| std::cmp::Reverse(row.switches));
        header.set_source("stacks", "bpf");
        self.add_losses(header);
        for (field, why) in self.shortcomings() {
            header.miss(field, why);
        }
    }

    fn add_losses(&self, header: &mut Header) {
        let losses = self.programs.losses();
        let full = "switches and wake-ups without their stack, because the table of stacks was full; a larger --stack-entries holds more";
        let kinds = [
            (losses.full, full),
            (
                losses.ring,
                "switches and wake-ups without their stack, because too many new stacks came at once",
            ),
            (
                losses.storage,
                "times off the CPU without their stack, because the kernel had no storage for the task",
            ),
            (
                losses.collided,
                "switches and wake-ups counted with another stack, because their hashes are equal",
            ),
            (self.processes.lost().unwrap_or(0), "mappings of files, whose functions may be without a name"),
        ];
        // Of an earlier call.
        header.lost.retain(|lost| kinds.iter().all(|(_, what)| lost.what != *what));
        header.lost.extend(kinds.into_iter().filter(|(events, _)| *events > 0).map(|(events, what)| Lost {
            cpu: None,
            events,
            what: what.to_owned(),
        }));
    }

    /// What is missing in the frames, and why.
    fn shortcomings(&self) -> Vec<(Field, String)> {
        let mut found = Vec::new();
        let nameless = self.symbols.nameless();
        if !nameless.is_empty() {
            let why = format!(
                "functions without a name, because symbols are missing (stripped): {}",
                listed(&nameless)
            );
            found.push((fields::STACKS_FRAMES, why));
        }
        let without: Vec<&str> = self.without_rules.iter().map(String::as_str).collect();
        if !without.is_empty() {
            let why = format!("walked by frame pointers only, for lack of .eh_frame: {}", listed(&without));
            found.push((fields::STACKS_CALLERS, why));
        }
        if self.no_place > 0 {
            let why = format!(
                "{} return addresses were walked by frame pointers only, because the kernel's table of rules was full",
                self.no_place
            );
            found.push((fields::STACKS_CALLERS, why));
        }
        if let Err(why) = self.processes.lost() {
            let why = format!("processes that ended before they were looked at have no names: {why}");
            found.push((fields::STACKS_FRAMES, why));
        }
        found
    }
}

/// The first few, and how many more.
fn listed(all: &[&str]) -> String {
    const SHOWN: usize = 5;
    let more = all.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", all[..all.len().min(SHOWN)].join(", "))
}

fn add(rows: &mut BTreeMap<RowKey, StackCounts>, row: RowKey, counts: StackCounts) {
    let sum = rows.entry(row).or_default();
    sum.switches += counts.switches;
    sum.off_cpu_ns += counts.off_cpu_ns;
    sum.wait_ns += counts.wait_ns;
}

/// What a switch of the tasks of one name cost on average, ns, where that was measured.
fn costs(tasks: &[TaskRow]) -> HashMap<&str, f64> {
    let mut sums: HashMap<&str, (u64, u64)> = HashMap::new();
    for task in tasks {
        if let Some(ns) = task.switch_cost_ns {
            let sum = sums.entry(task.comm.as_str()).or_default();
            sum.0 += ns;
            sum.1 += task.switches();
        }
    }
    sums.retain(|_, (_, switches)| *switches > 0);
    sums.into_iter().map(|(name, (ns, switches))| (name, ns as f64 / switches as f64)).collect()
}

fn libbpf_cpus() -> u32 {
    libbpf_rs::num_possible_cpus().map_or(0, |cpus| cpus as u32)
}

impl Collector for Stacks {
    fn started(&mut self, _: u32) {
        if let Ok(watched) = &mut self.0
            && std::mem::take(&mut watched.starting)
        {
            watched.programs.set_followed(task_info::own_tid(), false);
        }
    }

    fn poll(&mut self, now_ns: u64) {
        if let Ok(watched) = &mut self.0 {
            watched.poll(now_ns);
        }
    }

    fn finish(&mut self, end: &Snapshot) {
        if let Ok(watched) = &mut self.0 {
            watched.programs.detach();
            watched.poll(end.monotonic_ns);
        }
    }

    fn add(&mut self, header: &mut Header, tables: &mut Tables) {
        match &mut self.0 {
            Ok(watched) => watched.add(header, tables),
            Err(why) => header.miss(fields::STACKS, why.as_str()),
        }
    }
}
