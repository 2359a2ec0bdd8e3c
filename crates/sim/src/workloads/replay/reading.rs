//! Reads the switches of a recording, in the order of time, into the tracks of its tasks.

use super::attributes::Attributes;
use super::competitors::Competitors;
use super::track::{EventOrder, Track, TrackAction, TrackEvent, merged_program};
use super::{Changes, Charges, HandOver, Replayed, names};
use crate::assumption::Assumption;
use crate::costs::Costs;
use crate::error::SimError;
use crate::hook::{Family, Hook};
use crate::program::Op;
use crate::workload::{TaskSpec, Workload, stem};
use std::collections::{BTreeMap, BTreeSet};
use swtch_trace::tables::{PrevState, SwitchRow, TaskRow};

pub(super) struct Reading<'a> {
    rows: BTreeMap<u32, &'a TaskRow>,
    changes: &'a Changes,
    /// Tasks that are taken away.
    away: BTreeSet<u32>,
    tracks: BTreeMap<u32, Track>,
    /// Semaphores by the task that posts and the task that takes.
    semaphores: BTreeMap<(u32, u32), u32>,
    competitors: Competitors,
    attributes: Attributes,
    /// Wake-ups so far, which also orders those of the same time.
    wakes: u64,
    lost_runs: u64,
    unknown_wakes: u64,
}

impl<'a> Reading<'a> {
    pub(super) fn new(tasks: &'a [TaskRow], changes: &'a Changes) -> Self {
        let named = |row: &TaskRow| {
            let name = format!("{}/{}", row.comm, row.tid);
            changes.without.iter().any(|pattern| names(pattern, &name))
        };
        let away = tasks.iter().filter(|row| row.in_scope && named(row)).map(|row| row.tid).collect();
        Self {
            rows: tasks.iter().map(|task| (task.tid, task)).collect(),
            changes,
            away,
            tracks: BTreeMap::new(),
            semaphores: BTreeMap::new(),
            competitors: Competitors::default(),
            attributes: Attributes::default(),
            wakes: 0,
            lost_runs: 0,
            unknown_wakes: 0,
        }
    }

    /// Whether the task was recorded: the idle task was not, nor those that were only named.
    fn in_scope(&self, tid: u32) -> bool {
        tid != 0 && self.rows.get(&tid).is_none_or(|row| row.in_scope)
    }

    /// Whether the task is replayed.
    fn counts(&self, tid: u32) -> bool {
        self.in_scope(tid) && !self.away.contains(&tid)
    }

    pub(super) fn row(&mut self, row: &SwitchRow) {
        let rows = &self.rows;
        let is_other = |tid: u32| tid != 0 && rows.get(&tid).is_some_and(|row| !row.in_scope);
        self.competitors.row(row, rows, is_other);
        if self.counts(row.prev_tid) {
            self.leaves(row);
        }
        if self.counts(row.next_tid) {
            self.comes(row);
        }
    }

    fn leaves(&mut self, row: &SwitchRow) {
        let track = self.tracks.entry(row.prev_tid).or_default();
        let came_ns = track.running_since_ns.take();
        let since_came_ns = came_ns.map(|came_ns| row.at_ns.saturating_sub(came_ns));
        let ran_ns = row.ran_ns.or(since_came_ns).unwrap_or(0);
        let from_ns = row.at_ns.saturating_sub(ran_ns);
        // It came back without a row that says so.
        if let Some(since_ns) = track.blocked_since_ns.take() {
            self.unknown_wakes += 1;
            self.wakes += 1;
            let at = EventOrder { ns: from_ns.max(since_ns), order: self.wakes };
            track
                .items
                .push(TrackEvent { at, what: TrackAction::Sleep { ns: from_ns.saturating_sub(since_ns) } });
        }
        track.seen = true;
        let cost_ns = row.cost_ns.map_or(0, u64::from).min(ran_ns);
        track.runs.push((from_ns, row.at_ns.saturating_sub(cost_ns).max(from_ns)));
        if row.prev_state != PrevState::Runnable {
            track.blocked_since_ns = Some(row.at_ns);
        }
        if row.throttled == Some(true) {
            self.attributes.throttled();
        }
    }

    fn comes(&mut self, row: &SwitchRow) {
        let woken_ns = row.at_ns.saturating_sub(row.waited_ns.unwrap_or(0));
        let tid = row.next_tid;
        let track = self.tracks.entry(tid).or_default();
        if track.running_since_ns.replace(row.at_ns).is_some() {
            self.lost_runs += 1;
        }
        let first = !std::mem::replace(&mut track.seen, true);
        let Some(since_ns) = track.blocked_since_ns.take().or(first.then_some(0)) else {
            // It was preempted, and goes on.
            return;
        };
        self.wakes += 1;
        let at = EventOrder { ns: woken_ns.max(since_ns), order: self.wakes };
        let waker = row.waker_tid.filter(|waker| *waker != tid && self.counts(*waker));
        let Some(waker) = waker else {
            if first {
                self.track(tid).start_ns = at.ns;
            } else {
                self.track(tid)
                    .items
                    .push(TrackEvent { at, what: TrackAction::Sleep { ns: at.ns - since_ns } });
            }
            return;
        };
        let next = self.semaphores.len() as u32;
        let semaphore = *self.semaphores.entry((waker, tid)).or_insert(next);
        self.track(tid).items.push(TrackEvent { at, what: TrackAction::Acquire { semaphore } });
        self.track(waker).items.push(TrackEvent { at, what: TrackAction::Post { semaphore } });
    }

    fn track(&mut self, tid: u32) -> &mut Track {
        self.tracks.entry(tid).or_default()
    }

    fn name(&self, tid: u32) -> String {
        self.rows.get(&tid).map_or_else(|| format!("task/{tid}"), |row| format!("{}/{tid}", row.comm))
    }

    pub(super) fn finish(mut self, end_ns: u64, costs: &Costs) -> Result<Replayed, SimError> {
        let mut workload = Workload { name: "replay".to_owned(), ..Workload::default() };
        workload.semaphores = vec![0; self.semaphores.len()];
        let charges = Charges::of(costs);
        for track in self.tracks.values_mut() {
            if let Some(since_ns) = track.running_since_ns.take() {
                track.runs.push((since_ns, end_ns.max(since_ns)));
            }
        }
        self.check_names()?;
        let groups = self.groups()?;
        for tids in &groups {
            let tracks = tids.iter().filter_map(|tid| self.tracks.remove(tid)).collect::<Vec<_>>();
            let start_ns = tracks.iter().map(|track| track.start_ns).min().unwrap_or(0);
            let own = self.own_semaphores(tids);
            let ops = match <[Track; 1]>::try_from(tracks) {
                Ok([track]) => track.program(&charges),
                Err(tracks) => merged_program(tracks, &own, &charges),
            };
            let first = tids[0];
            let (name, row) = (self.name(first), self.rows.get(&first).copied());
            let spec = self.attributes.spec(row);
            let process = row.map_or(first, |row| row.pid);
            let program = workload.add_program(ops);
            workload.tasks.push(TaskSpec { name, process, program, start_ns, ..spec });
        }
        if workload.tasks.is_empty() {
            let problem = "no task ran between two of its switches; record it again, for longer";
            return Err(SimError::of_workload("replay", problem));
        }
        let recorded_tasks = workload.tasks.len();
        let mut assumed = self.assumed(&workload);
        let hand_over = self.hand_over(&workload, costs);
        let after = self.rows.values().map(|row| row.pid).max().unwrap_or(0).max(1 << 22) + 1;
        let without = &self.changes.without;
        let is_away = |name: &str| without.iter().any(|pattern| names(pattern, name));
        self.competitors.add(&mut workload, is_away, after, &mut assumed);
        Ok(Replayed { workload, recorded_tasks, assumed, lacks: self.attributes.lacks(), hand_over })
    }

    /// A change that names no task is an error.
    fn check_names(&self) -> Result<(), SimError> {
        let ran: Vec<String> = self.tracks.keys().map(|tid| self.name(*tid)).collect();
        let gone = self.away.iter().map(|tid| self.name(*tid));
        let all: Vec<String> = ran.into_iter().chain(gone).chain(self.competitors.names()).collect();
        let patterns = self.changes.without.iter().chain(self.changes.threads.iter().map(|one| &one.0));
        for pattern in patterns {
            if !all.iter().any(|name| names(pattern, name)) {
                return Err(no_such_task(pattern, all.iter().map(String::as_str)));
            }
        }
        Ok(())
    }

    /// The tasks that become one thread each: each alone, unless a change has fewer threads do the work of several.
    fn groups(&self) -> Result<Vec<Vec<u32>>, SimError> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut taken: BTreeSet<u32> = BTreeSet::new();
        for (pattern, threads) in &self.changes.threads {
            let matches = |tid: &&u32| !taken.contains(tid) && names(pattern, &self.name(**tid));
            let mut tids: Vec<u32> = self.tracks.keys().filter(matches).copied().collect();
            let (have, want) = (tids.len(), *threads as usize);
            if want == 0 || want > have {
                let problem = format!(
                    "threads is {threads}; expected 1 to {have}: the work of one recorded thread cannot be divided"
                );
                return Err(SimError::input(format!("--set {pattern}"), problem));
            }
            // The largest first, each to the thread that has least.
            tids.sort_by_key(|tid| (std::cmp::Reverse(self.tracks[tid].ran_ns()), *tid));
            let mut parts: Vec<(u64, Vec<u32>)> = vec![(0, Vec::new()); want];
            for tid in tids {
                taken.insert(tid);
                let part = parts.iter_mut().min_by_key(|part| part.0).expect("at least one thread");
                part.0 += self.tracks[&tid].ran_ns().max(1);
                part.1.push(tid);
            }
            groups.extend(parts.into_iter().map(|(_, mut tids)| {
                tids.sort_unstable();
                tids
            }));
        }
        groups.extend(self.tracks.keys().filter(|tid| !taken.contains(tid)).map(|tid| vec![*tid]));
        groups.sort();
        Ok(groups)
    }

    /// The semaphores by which some of these tasks wake others of them.
    fn own_semaphores(&self, tids: &[u32]) -> BTreeSet<u32> {
        if tids.len() < 2 {
            return BTreeSet::new();
        }
        let among = |(waker, wakee): &(u32, u32)| tids.contains(waker) && tids.contains(wakee);
        self.semaphores.iter().filter(|(pair, _)| among(pair)).map(|(_, semaphore)| *semaphore).collect()
    }

    fn hand_over(&self, workload: &Workload, costs: &Costs) -> HandOver {
        let ops = workload.programs.iter().flat_map(|program| &program.ops);
        let works = ops.filter_map(|op| if let Op::Compute { work_ns } = op { Some(*work_ns) } else { None });
        let hooks: u64 = Hook::ALL[..6].iter().map(|hook| costs.hook_ns(Family::Fair, *hook)).sum();
        let cost_ns = costs.wake_ns + costs.process_switch_ns + 2 * costs.futex_ns + hooks;
        HandOver { wakeups: self.wakes, by_tasks: acquires(workload) as u64, work_ns: works.sum(), cost_ns }
    }

    fn assumed(&self, workload: &Workload) -> Vec<Assumption> {
        let mut assumed = vec![Assumption::new(
            "wake-ups",
            format!("{} of {} by a task", acquires(workload), self.wakes),
            "an interrupt that found a task running is recorded as that task, and becomes an effect of its work",
        )];
        assumed.extend(self.attributes.assumed());
        let lost = [
            (
                "lost runs",
                self.lost_runs,
                "a task came twice and never left; what it did between is not replayed",
            ),
            (
                "lost wake-ups",
                self.unknown_wakes,
                "a task slept and left again without having come; it sleeps until then",
            ),
        ];
        for (what, count, why) in lost.into_iter().filter(|(_, count, _)| *count > 0) {
            assumed.push(Assumption::new(what, count.to_string(), why));
        }
        assumed
    }
}

/// No task of the recording has this name.
pub(crate) fn no_such_task<'a>(pattern: &str, all: impl Iterator<Item = &'a str>) -> SimError {
    let stems: BTreeSet<&str> = all.map(stem).collect();
    SimError::unknown("task", pattern, stems.into_iter().collect::<Vec<_>>().join(", "))
}

/// How many wake-ups by tasks there are.
fn acquires(workload: &Workload) -> usize {
    let ops = workload.programs.iter().flat_map(|program| &program.ops);
    ops.filter(|op| matches!(op, Op::Acquire { .. })).count()
}
