//! How far a sweep is. Needs nothing but the directory.

use crate::error::Error;
use crate::parts;
use crate::range::RangeSet;
use crate::state::{Opened, State};
use serde::Serialize;

/// How far a sweep is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    schema: &'static str,
    /// Runs.
    pub runs: u64,
    /// Of these, the ones whose rows are there.
    pub done: u64,
    /// Of those, the ones that failed.
    pub failed: u64,
    /// Runs that workers have claimed and not finished.
    pub claimed: u64,
    /// Workers that have claims.
    pub workers: u64,
    /// Workers that died.
    pub deaths: u64,
    /// CPU seconds of what is done.
    pub cpu_s: f64,
    /// CPU seconds that the rest will take: by the prediction, corrected by what was done.
    pub cpu_left_s: f64,
    /// Seconds until the end with these workers; absent where there are none.
    pub left_s: Option<f64>,
    /// The shards.
    pub shards: Vec<ShardStatus>,
}

/// How far a shard is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShardStatus {
    /// Its number.
    pub shard: usize,
    /// Its first run.
    pub first: u64,
    /// Its last run.
    pub last: u64,
    /// Runs of it that are done.
    pub done: u64,
    /// Where it is.
    pub state: ShardState,
    /// Workers that died on it.
    pub deaths: u64,
    /// What it costs by the prediction, CPU seconds.
    pub predicted_s: f64,
}

/// Where a shard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShardState {
    /// No worker has it.
    Open,
    /// A worker has it, or a part of it.
    Claimed,
    /// All its rows are there.
    Done,
}

/// How far a sweep is.
///
/// # Errors
/// When the directory cannot be read, or a part is damaged or of another sweep.
pub fn status(opened: &Opened) -> Result<Status, Error> {
    let (manifest, state) = (&opened.manifest, opened.state()?);
    let (mut failed, mut cpu_s) = (0, 0.0);
    for part in &state.parts {
        let receipt = parts::receipt(&opened.directory, *part, &manifest.identity)?;
        failed += receipt.failed;
        cpu_s += receipt.cpu_s;
    }
    let shards = shards(opened, &state);
    let held: Vec<_> =
        state.claims.iter().filter(|(_, attempts)| attempts.held).map(|(range, _)| range).collect();
    // A shard and one of its halves may both be claimed.
    let claimed: RangeSet = held.iter().flat_map(|range| state.done.missing_in(*range)).collect();
    let done = state.done.len();
    let of_done: f64 = shards
        .iter()
        .map(|shard| shard.predicted_s * shard.done as f64 / (shard.last - shard.first + 1) as f64)
        .sum();
    let correction = if of_done > 0.0 { cpu_s / of_done } else { 1.0 };
    let cpu_left_s =
        if done == manifest.runs { 0.0 } else { (manifest.predicted_s - of_done).max(0.0) * correction };
    let workers = held.len() as u64;
    Ok(Status {
        schema: "swtch/sweep-status/1",
        runs: manifest.runs,
        done,
        failed,
        claimed: claimed.len(),
        workers,
        deaths: state.claims.iter().map(|(_, attempts)| u64::from(attempts.deaths)).sum(),
        cpu_s,
        cpu_left_s,
        left_s: (workers > 0).then(|| cpu_left_s / workers as f64),
        shards,
    })
}

fn shards(opened: &Opened, state: &State) -> Vec<ShardStatus> {
    let mut shards = Vec::with_capacity(opened.manifest.shards.len());
    for (number, shard) in opened.manifest.shards.iter().enumerate() {
        let range = shard.range();
        let missing: u64 = state.done.missing_in(range).iter().map(|range| range.len()).sum();
        let is_held = || state.units(range).iter().any(|unit| unit.attempts.held);
        let found = match missing {
            0 => ShardState::Done,
            _ if is_held() => ShardState::Claimed,
            _ => ShardState::Open,
        };
        shards.push(ShardStatus {
            shard: number,
            first: shard.first,
            last: shard.last,
            done: range.len() - missing,
            state: found,
            deaths: 0,
            predicted_s: shard.predicted_s,
        });
    }
    for (range, attempts) in state.claims.iter() {
        let place = shards.partition_point(|shard| shard.last < range.first);
        if let Some(shard) = shards.get_mut(place) {
            shard.deaths += u64::from(attempts.deaths);
        }
    }
    shards
}

/// The shards that are not done, whether or not a worker has them now.
///
/// # Errors
/// When the directory cannot be read.
pub fn gaps(opened: &Opened) -> Result<Vec<usize>, Error> {
    let state = opened.state()?;
    let shards = opened.manifest.shards.iter().enumerate();
    Ok(shards.filter(|(_, shard)| !state.done.covers(shard.range())).map(|(number, _)| number).collect())
}
