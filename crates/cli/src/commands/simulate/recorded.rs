//! A recording's own figures, beside those of its replays.

use super::trace::policy_of;
use serde::Serialize;
use swtch_sim::histogram::Histogram;
use swtch_sim::summary::{Durations, Summary};
use swtch_trace::Trace;
use swtch_trace::model::{Header, Origin};
use swtch_trace::tables::SwitchRow;

/// What a recording came to.
#[derive(Debug, Serialize)]
pub(super) struct Recorded {
    /// The folder.
    trace: String,
    /// The policy it was recorded under, where that is known.
    pub(super) policy: Option<String>,
    /// From its beginning to the last switch, ns.
    pub(super) makespan_ns: u64,
    pub(super) voluntary: Option<u64>,
    pub(super) involuntary: Option<u64>,
    pub(super) migrations: Option<u64>,
    pub(super) wait_ns: Durations,
}

impl Recorded {
    /// What the header and the switches say.
    pub(super) fn of(trace: &Trace, switches: &[SwitchRow]) -> Self {
        let header = &trace.header;
        let totals = &header.totals.context_switches;
        let moves = &header.totals.migrations;
        let migrations = [moves.same_l2, moves.same_l3, moves.across];
        let mut waits = Histogram::default();
        switches.iter().filter_map(|row| row.waited_ns).for_each(|waited_ns| waits.add(waited_ns));
        Self {
            trace: trace.folder().display().to_string(),
            policy: policy(header),
            makespan_ns: header.duration_ns,
            voluntary: totals.voluntary,
            involuntary: totals.involuntary,
            migrations: migrations.iter().copied().sum(),
            wait_ns: Durations::of(&waits),
        }
    }

    /// How far the run under the recording's own policy is from it, in words.
    pub(super) fn distance(&self, runs: &[Summary]) -> Option<String> {
        let policy = self.policy.as_deref()?;
        let Some(run) = runs.iter().find(|run| run.policy == policy) else {
            return Some(format!(
                "Recorded under {policy}, which is not among the policies: nothing says how far the replay is from the recording."
            ));
        };
        let part = |simulated: u64, recorded: Option<u64>| match recorded {
            Some(recorded @ 1..) => {
                format!("{:+.1} %", (simulated as f64 / recorded as f64 - 1.0) * 100.0)
            }
            _ => "unknown".to_owned(),
        };
        Some(format!(
            "Replayed under {policy}, as recorded: makespan {}, voluntary switches {}, involuntary {}, migrations {} from the recording.",
            part(run.makespan_ns, Some(self.makespan_ns)),
            part(run.voluntary, self.voluntary),
            part(run.involuntary, self.involuntary),
            part(run.migrations, self.migrations),
        ))
    }
}

/// The policy of the kernel that was recorded: by its version, unless a sched_ext scheduler was loaded.
fn policy(header: &Header) -> Option<String> {
    if header.provenance.origin == Origin::Simulated {
        return policy_of(&header.provenance).map(str::to_owned);
    }
    let kernel = &header.host.kernel;
    if kernel.sched_ext_loaded.is_some() {
        return None;
    }
    let mut numbers = kernel.release.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.next()?.parse::<u32>().ok();
    let version = (next()?, next()?);
    // EEVDF came with 6.6.
    Some(if version >= (6, 6) { "eevdf" } else { "cfs" }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_topology::Host;
    use swtch_trace::model::{Provenance, Scope};

    #[test]
    fn the_kernels_version_says_which_fair_class_it_was() {
        let of = |release: &str| {
            let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
            header.host.kernel.release = release.to_owned();
            policy(&header)
        };
        assert_eq!(of("6.18.0-rc1").as_deref(), Some("eevdf"));
        assert_eq!(of("6.5.13-generic").as_deref(), Some("cfs"));
        assert_eq!(of(""), None);
    }
}
