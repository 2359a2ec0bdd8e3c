//! One run that is recorded: waits and the bill.

use super::ComparisonJob;
use super::counted::{self, Stop};
use super::policy::Prepared;
use crate::error::SchedError;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use swtch_cost::{Inputs, Range, bill};
use swtch_trace::tables::{HistogramRow, TaskRow};
use swtch_trace::{Trace, figures};

/// How long tasks waited in run queues, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Half of all waits were at most this long.
    pub p50: f64,
    /// Nine of ten.
    pub p90: f64,
    /// 99 of 100.
    pub p99: f64,
}

/// The bill of one recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BillFigures {
    /// The switches themselves, ns; absent when nothing says what one costs.
    pub direct_ns: Option<Range>,
    /// Refilling caches after them, ns; absent without a Profile.
    pub indirect_ns: Option<Range>,
    /// Mean direct cost of one switch, ns.
    pub switch_ns: Option<Range>,
    /// Both costs as a share of the tasks' CPU time.
    pub share: Option<Range>,
    /// Whether the direct cost was measured at every switch.
    pub measured_in_place: bool,
}

/// What a recording gave.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) waits: Option<Waits>,
    pub(super) bill: BillFigures,
    /// Where its Trace is kept.
    pub(super) trace: Option<PathBuf>,
    /// Why there are no waits.
    pub(super) missing: Option<String>,
}

pub(super) fn run(
    job: &ComparisonJob,
    one: &Prepared,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Recorded, SchedError> {
    let scratch = tempfile::tempdir().map_err(SchedError::system("making a directory for a Trace"))?;
    let folder = match &job.out {
        Some(out) => {
            std::fs::create_dir_all(out)
                .map_err(SchedError::system(format!("making the directory {}", out.display())))?;
            out.join(format!("{}.swtch", one.name.replace([' ', '/'], "_")))
        }
        None => scratch.path().join("run.swtch"),
    };
    record_into(&job.program, one, &job.command, &folder, stop)?;
    let recorded = read(job, &folder)?;
    Ok(Recorded { trace: job.out.is_some().then_some(folder), ..recorded })
}

/// Runs a command with a recorder, whose Trace goes into a directory.
pub(crate) fn record_into(
    program: &Path,
    one: &Prepared,
    command: &[OsString],
    folder: &Path,
    stop: &mut dyn FnMut() -> bool,
) -> Result<(), SchedError> {
    // The recorder itself stays as it is; only the command gets the policy.
    let mut words: Vec<OsString> = vec![program.into()];
    words.extend(["record", "--no-profile", "--json=/dev/null", "--force", "-o"].map(OsString::from));
    words.extend([folder.into(), "--".into()]);
    words.extend(one.prefix.iter().map(OsString::from));
    words.extend(command.iter().cloned());
    counted::finish(one, &words, command, Stdio::null(), Stop::at_any_time(stop)).map(drop)
}

fn read(job: &ComparisonJob, folder: &Path) -> Result<Recorded, SchedError> {
    let trace = Trace::open(folder)?;
    let bill = bill(Inputs { trace: trace.view(), model: job.model.as_ref(), price: None });
    let waits = waits(&trace.tasks, &trace.histograms);
    let unavailable = trace.header.unavailable.iter().find(|row| row.field.as_str().contains("wait"));
    let missing = waits.is_none().then(|| {
        unavailable.map_or_else(|| "the recording has no single waits".to_owned(), |row| row.reason.clone())
    });
    Ok(Recorded {
        waits,
        bill: BillFigures {
            direct_ns: bill.direct_ns,
            indirect_ns: bill.indirect_ns,
            switch_ns: bill.switch_ns,
            share: bill.share,
            measured_in_place: bill.measured_in_place,
        },
        trace: None,
        missing,
    })
}

/// Of the distribution of all waits, as every output of the Trace has them.
fn waits(tasks: &[TaskRow], histograms: &[HistogramRow]) -> Option<Waits> {
    let at = |share| figures::quantile_ns(tasks, histograms, "wait", "all", share).map(|ns| ns as f64);
    Some(Waits { p50: at(0.5)?, p90: at(0.9)?, p99: at(0.99)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_come_from_the_histogram_of_all_waits() {
        let row = |metric: &str, of: &str, from_ns, to_ns, count| HistogramRow {
            metric: metric.to_owned(),
            of: of.to_owned(),
            from_ns,
            to_ns,
            count,
        };
        let rows = [
            row("wait", "all", 100, 200, 50),
            row("wait", "all", 0, 100, 50),
            row("slice", "all", 0, 9, 7),
            row("wait", "cpu 1", 0, 9, 7),
        ];
        let waits = waits(&[], &rows).unwrap();
        assert_eq!((waits.p50, waits.p90, waits.p99), (50.0, 150.0, 150.0));
        assert_eq!(super::waits(&[], &[]), None);
    }
}
