use super::*;
use crate::verdict::RunOrder;
use swtch_stats::Rng;
use swtch_topology::Host;
use swtch_trace::model::{Ended, Header, Provenance, Scope};
use swtch_trace::tables::{HistogramRow, PreemptionRow, Tables, TaskRow};

/// A recording of a worker that a logger preempts; its counts vary by some 1 %, its time by 3 %, its waits by 30 %.
fn recorded(times: f64, rng: &mut Rng) -> (Header, Tables) {
    // Nearly normal: a sum of twelve.
    let mut normal = || (0..12).map(|_| rng.unit_f64()).sum::<f64>() - 6.0;
    let mut about = |value: f64, share: f64| (value * (share * normal()).exp()) as u64;
    let provenance = Provenance { ended: Ended::Complete, ..Provenance::default() };
    let scope = Scope::Command { command: vec!["server".to_owned()], pid: 7 };
    let mut header = Header::new(provenance, Host::default(), scope);
    let (preempted, own) = (about(times, 0.01), about(200.0, 0.01));
    header.duration_ns = about(1e9, 0.03);
    header.totals.context_switches.voluntary = Some(own);
    header.totals.context_switches.involuntary = Some(preempted);
    let task = |tid, comm: &str, involuntary, voluntary, run_ns| TaskRow {
        tid,
        comm: comm.to_owned(),
        in_scope: true,
        involuntary,
        voluntary,
        run_ns,
        ..TaskRow::default()
    };
    let tasks = vec![task(7, "worker", preempted, 0, about(9e8, 0.03)), task(8, "logger", 0, own, 1_000_000)];
    let preemptions = vec![PreemptionRow { by_tid: 8, of_tid: 7, count: preempted, ns: None }];
    let wait_ns = about(20_000.0, 0.3);
    let histograms = HistogramRow::of("wait", "all", [(wait_ns, wait_ns + 1, 100)]).collect();
    (header, Tables { tasks, preemptions, histograms, ..Tables::default() })
}

fn views<'a>(side: &'a [(Header, Tables)], bills: &'a [Bill]) -> Vec<PricedTrace<'a>> {
    let of = |((header, tables), bill): (&'a (Header, Tables), &'a Bill)| PricedTrace {
        trace: tables.view(header),
        bill,
        requests: None,
    };
    side.iter().zip(bills).map(of).collect()
}

/// What 200 comparisons of `runs` recordings of each side say, where the new side has `more` preemptions.
fn verdicts(more: f64, runs: usize, order: RunOrder) -> Vec<Diff> {
    let mut rng = Rng::new(7);
    let compared = |_| {
        let mut side = |times: f64| -> Vec<_> { (0..runs).map(|_| recorded(times, &mut rng)).collect() };
        let (old, new) = (side(1000.0), side(1000.0 * (1.0 + more)));
        let bills = |side: &[(Header, Tables)]| -> Vec<Bill> {
            let priced = |(header, tables): &(Header, Tables)| {
                bill(Inputs { trace: tables.view(header), model: None, price: None })
            };
            side.iter().map(priced).collect()
        };
        let (old_bills, new_bills) = (bills(&old), bills(&new));
        diff_traces(&views(&old, &old_bills), &views(&new, &new_bills), Some(order), &[]).unwrap()
    };
    (0..200).map(compared).collect()
}

fn share_of(diffs: &[Diff], verdict: Verdict) -> f64 {
    diffs.iter().filter(|diff| diff.verdict == verdict).count() as f64 / diffs.len() as f64
}

#[test]
fn like_recordings_have_no_verdict_and_a_change_has_its_pair() {
    for (runs, order) in [(5, RunOrder::Mixed), (20, RunOrder::Pairs)] {
        let alike = verdicts(0.0, runs, order);
        let wrong = share_of(&alike, Verdict::Worse) + share_of(&alike, Verdict::Better);
        assert!(wrong <= 0.05, "{order:?}: {wrong}");
    }
    for (more, least) in [(0.05, 0.8), (0.1, 0.95), (0.2, 1.0)] {
        let changed = verdicts(more, 10, RunOrder::Mixed);
        let other = changed.iter().find(|diff| diff.verdict != Verdict::Worse);
        assert!(share_of(&changed, Verdict::Worse) >= least, "{more}: {:?}", other.map(|diff| &diff.answer));
        let named = changed.iter().filter(|diff| diff.answer.contains("worker is preempted by logger"));
        assert!(named.count() >= (least * 200.0) as usize, "{more}: {}", changed[0].answer);
    }
    // Of one recording each, nothing is decided, however large the difference.
    assert!(verdicts(3.0, 1, RunOrder::Mixed).iter().all(|diff| diff.verdict == Verdict::Unclear));
}

#[test]
fn recordings_in_turns_are_pairs() {
    let mut rng = Rng::new(3);
    let mut order = |old: &[u64], new: &[u64]| {
        let mut side = |starts: &[u64]| -> Vec<(Header, Tables)> {
            let mut one = |start: &u64| {
                let mut run = recorded(1000.0, &mut rng);
                run.0.provenance.started_unix_ns = *start;
                run
            };
            starts.iter().map(&mut one).collect()
        };
        let (old, new) = (side(old), side(new));
        let bills = vec![bill(Inputs { trace: old[0].1.view(&old[0].0), model: None, price: None }); 3];
        traces::order_of(&views(&old, &bills), &views(&new, &bills))
    };
    assert_eq!(order(&[1, 4, 5], &[2, 3, 6]), RunOrder::Pairs);
    // The order of the files does not matter.
    assert_eq!(order(&[5, 1, 4], &[6, 3, 2]), RunOrder::Pairs);
    assert_eq!(order(&[1, 2, 5], &[3, 4, 6]), RunOrder::Mixed);
    assert_eq!(order(&[1, 4], &[2, 3, 6]), RunOrder::Mixed);
    assert_eq!(order(&[1, 2, 3], &[4, 5, 6]), RunOrder::Apart);
}
