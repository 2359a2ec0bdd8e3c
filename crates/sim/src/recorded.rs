//! A recording's own figures.

use crate::policies::fair_class_of;
use crate::stats::Durations;
use serde::Serialize;
use swtch_trace::figures::{classes, longest_ns, quantile_ns};
use swtch_trace::model::{Header, Origin};
use swtch_trace::{Tables, Trace};

/// The program that writes simulated Traces, as in [`Provenance`](swtch_trace::model::Provenance)'s `recorder`.
pub(crate) const RECORDER: &str = "swtch simulate";

/// What a recording came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recorded {
    /// The directory.
    pub trace: String,
    /// The policy it was recorded under, where that is known.
    pub policy: Option<String>,
    /// From its beginning to the last switch, ns.
    pub makespan_ns: u64,
    /// Voluntary switches.
    pub voluntary: Option<u64>,
    /// Involuntary switches.
    pub involuntary: Option<u64>,
    /// Migrations.
    pub migrations: Option<u64>,
    /// Waits in run queues.
    pub wait_ns: Durations,
}

impl Recorded {
    /// What a Trace says of itself: the figures that every output prints of it.
    pub fn of(trace: &Trace) -> Self {
        let (header, Tables { tasks, histograms, .. }) = (&trace.header, &trace.tables);
        let totals = &header.totals.context_switches;
        let moves = &header.totals.migrations;
        let migrations = [moves.same_l2, moves.same_l3, moves.across];
        let wait_ns = |share| quantile_ns(tasks, histograms, "wait", "all", share);
        Self {
            trace: trace.folder().display().to_string(),
            policy: policy(header),
            makespan_ns: header.duration_ns,
            voluntary: totals.voluntary,
            involuntary: totals.involuntary,
            migrations: migrations.iter().copied().sum(),
            wait_ns: Durations {
                count: classes(histograms, "wait", "all").iter().map(|class| class.2).sum(),
                p50: wait_ns(0.5),
                p90: wait_ns(0.9),
                p99: wait_ns(0.99),
                max: longest_ns(tasks, "wait", "all"),
            },
        }
    }
}

/// The policy of the kernel that was recorded: by its version, unless a sched_ext scheduler was loaded.
fn policy(header: &Header) -> Option<String> {
    if header.provenance.origin == Origin::Simulated {
        return header.provenance.policy.clone();
    }
    let kernel = &header.host.kernel;
    if kernel.sched_ext_loaded.is_some() {
        return None;
    }
    fair_class_of(kernel.major_minor()?).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_topology::Host;
    use swtch_trace::model::{Provenance, Scope};

    #[test]
    fn a_simulated_trace_names_its_policy_whatever_its_reason_says() {
        let provenance = Provenance {
            origin: Origin::Simulated,
            policy: Some("on a disk/under test.bpf.c".to_owned()),
            why: "a under b on c".to_owned(),
            ..Provenance::default()
        };
        let header = Header::new(provenance, Host::default(), Scope::Machine);
        assert_eq!(policy(&header).as_deref(), Some("on a disk/under test.bpf.c"));
    }

    #[test]
    fn the_kernels_version_says_which_fair_class_it_was() {
        let of = |release: &str| {
            let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
            header.host.kernel.release = release.to_owned();
            policy(&header)
        };
        assert_eq!(of("6.18.0-rc1").as_deref(), Some("eevdf"));
        assert_eq!(of("7.1.2").as_deref(), Some("eevdf"));
        assert_eq!(
            (of("7.2.0"), of("8.0-rc1")),
            (Some("eevdf-7.2".to_owned()), Some("eevdf-7.3".to_owned()))
        );
        assert_eq!(of("6.5.13-generic").as_deref(), Some("cfs"));
        assert_eq!((of("5.16.0"), of("5.15.4")), (Some("cfs".to_owned()), Some("cfs-2.6".to_owned())));
        assert_eq!(of(""), None);
    }
}
