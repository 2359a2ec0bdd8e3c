//! A worker: takes what is left, one shard after the other, until nothing is.

use crate::claims::{self, Claim};
use crate::command::{Start, run as run_command, spent_s};
use crate::error::{Error, writing};
use crate::heartbeat::{Heartbeat, hung};
use crate::lease::LeaseWatch;
use crate::owner::Owner;
use crate::parts::{self, Receipt};
use crate::range::Range;
use crate::state::{DEATHS_TO_GIVE_UP, Opened, State, Unit};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use swtch_sim::sweep::{Prepared, RunRow};

/// A run that is under way when the worker is asked to end may take this long. A signal of SLURM comes 90 s before the end.
const GRACE: Duration = Duration::from_secs(60);
/// How long a worker waits for the others at most before it looks again.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const NAP: Duration = Duration::from_millis(20);

/// Which shards a worker takes.
#[derive(Clone, Debug, Default)]
pub struct Only {
    /// Only these; all when absent.
    pub shards: Option<Vec<usize>>,
    /// Where it begins: `(2, 8)` is the third of eight equal parts. Workers that begin apart seldom want the same shard.
    pub start: (usize, usize),
}

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worked {
    /// Runs that it made.
    pub runs: u64,
    /// Of these, the ones that failed.
    pub failed: u64,
    /// Whether it was asked to end before all was done.
    pub left: bool,
}

impl std::ops::AddAssign for Worked {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.failed += other.failed;
        self.left |= other.left;
    }
}

/// Works until nothing is left, or `stop` is set: then the current run is finished and the shard is left to others. `start`: how a command is
/// started, where runs are commands.
///
/// # Errors
/// When the inputs are not those of the plan, a run cannot be, or something cannot be read or written.
pub fn work(opened: &Opened, only: &Only, start: &Start<'_>, stop: &AtomicBool) -> Result<Worked, Error> {
    let prepared = opened.manifest.prepare(&opened.directory)?;
    let lease = Duration::from_secs_f64(opened.manifest.lease_s);
    let mut worker = Worker {
        opened,
        shards: order(opened, only)?,
        prepared,
        start,
        stop: Stop { flag: stop, since: None },
        own: Owner::own(),
        watch: LeaseWatch::new(lease),
        heartbeat: Heartbeat::start(&opened.directory, lease),
        lease,
        worked: Worked::default(),
    };
    loop {
        if worker.stop.asked() {
            worker.worked.left = true;
            return Ok(worker.worked);
        }
        match worker.next()? {
            Next::Take(unit, claim) => worker.make(unit, claim)?,
            Next::Wait => worker.wait(),
            Next::Nothing => return Ok(worker.worked),
        }
    }
}

/// The shards in the order in which the worker looks at them.
fn order(opened: &Opened, only: &Only) -> Result<Vec<Range>, Error> {
    let shards = &opened.manifest.shards;
    let mut order = match &only.shards {
        None => shards.iter().map(|shard| shard.range()).collect::<Vec<_>>(),
        Some(numbers) => {
            let found =
                numbers.iter().map(|number| shards.get(*number).map(|shard| shard.range()).ok_or(number));
            found.collect::<Result<_, _>>().map_err(|number| {
                Error::Wrong(format!(
                    "there is no shard {number}; the last one is {}",
                    shards.len().saturating_sub(1)
                ))
            })?
        }
    };
    let (place, parts) = only.start;
    let count = order.len();
    if let Some(first) = (place * count).checked_div(parts) {
        order.rotate_left(first % count.max(1));
    }
    Ok(order)
}

struct Worker<'a> {
    opened: &'a Opened,
    prepared: Prepared,
    start: &'a Start<'a>,
    shards: Vec<Range>,
    stop: Stop<'a>,
    own: Owner,
    watch: LeaseWatch,
    heartbeat: Heartbeat,
    lease: Duration,
    worked: Worked,
}

enum Next {
    Take(Unit, Claim),
    /// Others work on what is left.
    Wait,
    Nothing,
}

/// Whether the worker was asked to end, and since when.
struct Stop<'a> {
    flag: &'a AtomicBool,
    since: Option<Instant>,
}

impl Stop<'_> {
    fn asked(&mut self) -> bool {
        let asked = self.flag.load(Ordering::Relaxed);
        if asked && self.since.is_none() {
            self.since = Some(Instant::now());
        }
        asked
    }

    fn is_overdue(&mut self) -> bool {
        self.asked() && self.since.is_some_and(|since| since.elapsed() > GRACE)
    }
}

impl Worker<'_> {
    fn next(&mut self) -> Result<Next, Error> {
        let state = self.opened.state()?;
        let mut is_left = false;
        for place in 0..self.shards.len() {
            for unit in state.units(self.shards[place]) {
                is_left = true;
                if unit.attempts.held {
                    // Its halves, where this was the last death of the whole, are found at the next look.
                    self.record_if_dead(unit)?;
                    continue;
                }
                let attempt = unit.attempts.latest + 1;
                let claim = Claim::take(&self.opened.directory, unit.range, attempt, &self.own);
                let claim = claim.map_err(|error| {
                    writing(&claims::path(&self.opened.directory, unit.range, attempt))(error)
                })?;
                if let Some(claim) = claim {
                    return Ok(Next::Take(unit, claim));
                }
            }
        }
        Ok(if is_left { Next::Wait } else { Next::Nothing })
    }

    /// Records that the holder of a claim is dead, where it is.
    fn record_if_dead(&mut self, unit: Unit) -> Result<(), Error> {
        let (directory, range, attempt) = (&self.opened.directory, unit.range, unit.attempts.latest);
        let path = claims::path(directory, range, attempt);
        let ended = claims::owner(directory, range, attempt).is_some_and(|owner| owner.has_ended(&self.own));
        let why = if ended {
            "its process is gone".to_owned()
        } else if self.watch.has_lapsed(range, attempt, &path).map_err(crate::error::reading(&path))? {
            hung(self.lease)
        } else {
            return Ok(());
        };
        claims::record_death(directory, range, attempt, &why).map_err(writing(&path))
    }

    fn wait(&mut self) {
        let until = Instant::now() + (self.lease / 10).clamp(NAP, LOOK_EVERY);
        while Instant::now() < until && !self.stop.asked() {
            std::thread::sleep(NAP);
        }
    }

    /// Makes the runs of a unit that are not there yet.
    fn make(&mut self, unit: Unit, claim: Claim) -> Result<(), Error> {
        self.heartbeat.hold(&claim).map_err(writing(&claim.path))?;
        let made = self.make_held(unit);
        self.heartbeat.leave();
        claim.release();
        made
    }

    fn make_held(&mut self, unit: Unit) -> Result<(), Error> {
        // What another worker finished between the look and the claim is not made again.
        let state = self.opened.state()?;
        for range in state.done.missing_in(unit.range) {
            if self.stop.asked() {
                return Ok(());
            }
            let began = spent_s();
            let rows = if unit.is_given_up() {
                vec![self.prepared.failed(range.first, self.why(unit, &state))]
            } else {
                self.rows(range)?
            };
            let Some(last) = rows.last().map(|row| row.run) else { return Ok(()) };
            self.keep(Range { first: range.first, last }, rows, spent_s() - began)?;
        }
        Ok(())
    }

    fn why(&self, unit: Unit, state: &State) -> String {
        let latest = state.claims.of(unit.range).latest;
        let cause = claims::cause_of_death(&self.opened.directory, unit.range, latest);
        let cause = cause.map_or_else(String::new, |cause| format!(" ({cause})"));
        format!("its worker died {DEATHS_TO_GIVE_UP} times{cause}")
    }

    /// The rows of a range, up to where the worker is asked to end.
    fn rows(&mut self, range: Range) -> Result<Vec<RunRow>, Error> {
        let mut rows = Vec::with_capacity(range.len() as usize);
        for run in range.first..=range.last {
            if self.stop.asked() {
                break;
            }
            self.heartbeat.step();
            let (heartbeat, stop) = (&self.heartbeat, &mut self.stop);
            let mut goes_on = || {
                heartbeat.step();
                !stop.is_overdue()
            };
            let row = match self.prepared.sweep().words(run) {
                None => self.prepared.run(run, &mut goes_on)?,
                Some(words) => run_command(&self.prepared, run, &words, self.start, &mut goes_on)?,
            };
            match row {
                Some(row) => rows.push(row),
                None => break,
            }
        }
        Ok(rows)
    }

    fn keep(&mut self, range: Range, rows: Vec<RunRow>, cpu_s: f64) -> Result<(), Error> {
        let failed = rows.iter().filter(|row| row.error.is_some()).count() as u64;
        let sweep = self.opened.manifest.identity.clone();
        let receipt = Receipt { sweep, failed, cpu_s, host: self.own.host.clone() };
        self.heartbeat.writes(true);
        let written = parts::write(&self.opened.directory, range, rows, &receipt);
        self.heartbeat.writes(false);
        if let Err(error) = written {
            // A worker that was believed dead comes late: others have made the runs, and may have merged them.
            if self.opened.state()?.done.covers(range) {
                return Ok(());
            }
            return Err(error);
        }
        self.worked.runs += range.len();
        self.worked.failed += failed;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
