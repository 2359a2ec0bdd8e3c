//! The table of a sweep: a row a run, in Parquet.

use super::Point;
use super::error::{SweepError, file_error};
use crate::stats::Durations;
use crate::summary::Summary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use swtch_columns::{ByteArray, ByteArrayType, Cell, Columns, Encoder, GROUP_ROWS, Layout, Scalar};
use swtch_profile::FileError;

/// Under which the sweep's identity is in the file.
pub const IDENTITY: &str = "swtch.sweep";

swtch_columns::table! {
    /// One run. Figures are absent where it failed. How long it took is left out: the same sweep gives the same bytes.
    #[derive(Serialize, Deserialize)]
    pub struct RunRow in "runs" of ["swtch/sweep/1"], nullable ["text", "u64"];
    {
        /// Its number in the sweep.
        pub run: u64 [id],
        /// The machine.
        pub machine: String [none],
        /// The workload.
        pub workload: String [none],
        /// The policy.
        pub policy: String [none],
        /// The seed.
        pub seed: u64 [id],
        /// Whether all tasks that count ended.
        pub complete: Option<bool> [none],
        /// From the beginning until the last task that counts ended, or until the time was over.
        pub makespan_ns: Option<u64> [ns],
        /// Switches from a task.
        pub context_switches: Option<u64> [count],
        /// Of those, the voluntary ones.
        voluntary: Option<u64> [count],
        /// The involuntary ones.
        involuntary: Option<u64> [count],
        /// Switches from the idle task.
        from_idle: Option<u64> [count],
        /// Moves of tasks between CPUs.
        migrations: Option<u64> [count],
        /// Wake-ups.
        wakeups: Option<u64> [count],
        /// Ticks.
        ticks: Option<u64> [count],
        /// Events that the simulator took.
        events: Option<u64> [count],
        /// Waits in run queues.
        wait_count: Option<u64> [count],
        /// Their median.
        wait_p50_ns: Option<u64> [ns],
        /// Nine of ten are at most this long.
        wait_p90_ns: Option<u64> [ns],
        /// 99 of 100 are at most this long.
        pub wait_p99_ns: Option<u64> [ns],
        /// The longest.
        wait_max_ns: Option<u64> [ns],
        /// Requests; this and their times are absent where the workload has none.
        request_count: Option<u64> [count],
        /// The median of their times.
        request_p50_ns: Option<u64> [ns],
        /// Nine of ten take at most this long.
        request_p90_ns: Option<u64> [ns],
        /// 99 of 100 take at most this long.
        pub request_p99_ns: Option<u64> [ns],
        /// The longest.
        request_max_ns: Option<u64> [ns],
        /// Time of all CPUs in tasks.
        cpu_run_ns: Option<u64> [ns],
        /// Without a task.
        cpu_idle_ns: Option<u64> [ns],
        /// In switches.
        cpu_switch_ns: Option<u64> [ns],
        /// Spinning.
        cpu_spin_ns: Option<u64> [ns],
        /// In ticks.
        cpu_tick_ns: Option<u64> [ns],
        /// Refilling caches.
        cpu_refill_ns: Option<u64> [ns],
        /// In barriers.
        cpu_barrier_ns: Option<u64> [ns],
        /// Share of the CPUs' time that was spent spinning.
        spin_share: Option<f64> [share],
        /// Speeds of the applications as JSON, where the machine has several kinds of core.
        application_speeds: Option<LongText> [none],
        /// What the command printed, or what the sweep takes from that, as JSON; absent where runs are simulations.
        pub printed: Option<LongText> [none],
        /// Why it failed.
        pub error: Option<LongText> [none],
    }
}

/// A text of any length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LongText(String);

impl LongText {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Scalar for LongText {
    type Physical = ByteArrayType;
    const KIND: &'static str = "long-text";

    fn to_stored(&self) -> Result<ByteArray, String> {
        Ok(ByteArray::from(self.0.as_str()))
    }

    fn to_cell(&self) -> Cell<'_> {
        Cell::Text(&self.0)
    }

    fn from_stored(stored: ByteArray) -> Result<Self, String> {
        stored.as_utf8().map(|text| Self(text.to_owned())).map_err(|_| "a text is not UTF-8".to_owned())
    }
}

impl RunRow {
    /// A run of `point` that came to `found`, or why it failed.
    pub(super) fn new(point: &Point<'_>, found: Result<Self, String>) -> Self {
        let row = found.unwrap_or_else(|error| Self { error: Some(LongText(error)), ..Self::default() });
        Self {
            run: point.run,
            machine: point.machine.to_owned(),
            workload: point.workload.to_owned(),
            policy: point.policy.to_owned(),
            seed: point.seed,
            ..row
        }
    }

    /// What a command came to.
    pub(super) fn printing(taken: String) -> Self {
        Self { printed: Some(LongText(taken)), ..Self::default() }
    }

    /// What a simulation came to.
    pub(super) fn figures(run: &Summary) -> Self {
        let speeds = run.fairness.as_ref().map(|fairness| {
            let of_each = fairness.applications.iter().map(|one| (one.name.as_str(), one.speed));
            LongText(serde_json::json!(of_each.collect::<BTreeMap<_, _>>()).to_string())
        });
        let (wait, request) = (run.wait_ns, run.request_ns);
        let requests = |of: fn(Durations) -> Option<u64>| request.and_then(of);
        Self {
            complete: Some(run.complete),
            makespan_ns: Some(run.makespan_ns),
            context_switches: Some(run.context_switches),
            voluntary: Some(run.voluntary),
            involuntary: Some(run.involuntary),
            from_idle: Some(run.from_idle),
            migrations: Some(run.migrations),
            wakeups: Some(run.wakeups),
            ticks: Some(run.ticks),
            events: Some(run.events),
            wait_count: Some(wait.count),
            wait_p50_ns: wait.p50,
            wait_p90_ns: wait.p90,
            wait_p99_ns: wait.p99,
            wait_max_ns: wait.max,
            request_count: requests(|times| Some(times.count)),
            request_p50_ns: requests(|times| times.p50),
            request_p90_ns: requests(|times| times.p90),
            request_p99_ns: requests(|times| times.p99),
            request_max_ns: requests(|times| times.max),
            cpu_run_ns: Some(run.cpu_ns.run_ns),
            cpu_idle_ns: Some(run.cpu_ns.idle_ns),
            cpu_switch_ns: Some(run.cpu_ns.switch_ns),
            cpu_spin_ns: Some(run.cpu_ns.spin_ns),
            cpu_tick_ns: Some(run.cpu_ns.tick_ns),
            cpu_refill_ns: Some(run.cpu_ns.refill_ns),
            cpu_barrier_ns: Some(run.cpu_ns.barrier_ns),
            spin_share: Some(run.spin_share),
            application_speeds: speeds,
            ..Self::default()
        }
    }
}

/// Writes the table, whole or not at all; what failed comes back.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(out: &Path, identity: &str, rows: &[RunRow]) -> Result<Vec<String>, SweepError> {
    let mut groups = rows.chunks(GROUP_ROWS);
    write_table(out, (IDENTITY, identity), &mut || Ok(groups.next().map(<[RunRow]>::to_vec)))?;
    Ok(rows.iter().filter_map(describe_failure).collect())
}

/// Writes rows as a table, whole or not at all, with a key and a text. `next` gives the groups: [`GROUP_ROWS`] rows each, but for the last.
///
/// # Errors
/// When the table cannot be written, or `next` fails.
pub fn write_table(
    out: &Path,
    note: (&str, &str),
    next: &mut dyn FnMut() -> io::Result<Option<Vec<RunRow>>>,
) -> Result<(), FileError> {
    let layout = Layout { note: Some(note), ..Layout::default() };
    swtch_profile::file::replace(out, |file| {
        let mut encoder = Encoder::new(RunRow::columns(), io::BufWriter::new(file), layout)?;
        while let Some(rows) = next()? {
            encoder.group(&rows)?;
        }
        encoder.finish()
    })
}

/// A failed run with its reason; nothing for one that did not fail.
pub fn describe_failure(row: &RunRow) -> Option<String> {
    let error = row.error.as_ref()?.as_str();
    Some(format!("run {} ({} under {} on {}): {error}", row.run, row.workload, row.policy, row.machine))
}

/// Whether the table is there already.
///
/// # Errors
/// When something else is: another sweep's, or no such table at all.
pub(super) fn is_there(out: &Path, identity: &str) -> Result<bool, SweepError> {
    let file = match File::open(out) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(file_error(format!("cannot read {}", out.display()))(error)),
    };
    let path = out.display();
    let refuse = |what: &str| {
        Err(SweepError::Wrong(format!("{path} is {what}; delete it or choose another place for the table")))
    };
    match swtch_columns::note(file, IDENTITY) {
        Some(found) if found == identity => Ok(true),
        Some(_) => refuse("the table of another sweep: the sweep, its part, or a file it names has changed"),
        None => refuse("not a table of a sweep"),
    }
}
