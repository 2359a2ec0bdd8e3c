//! Figures of a study that cannot be true. They are refused before a study is written, and when one is read.

use crate::model::{CpuUse, Estimate, Outcome, Run, SCHEMA, Study, Summary};
use swtch_units::input_error::Checks;

/// How far a quotient may be from its parts, relative to it.
const ROUNDING: f64 = 1e-6;
/// A quota may be used up at both ends of a window: two periods of 100 ms.
const PERIODS_NS: f64 = 200e6;

/// The checks of a study. Figures that an older study does not have are not checked.
#[must_use]
pub fn check(study: &Study) -> Checks {
    let mut checks = Checks::default();
    study.runs.iter().for_each(|one| run(&mut checks, one));
    for of in &study.summaries {
        summary(&mut checks, study, of);
    }
    for advice in &study.advice {
        let name = format!("advice for {}", advice.workload.slug);
        interval(&mut checks, &format!("{name}: ratio"), &advice.ratio);
        let Some(evidence) = advice.evidence else { continue };
        if let (Some(p), Some(adjusted), Some(level)) =
            (evidence.p_value, evidence.p_adjusted, evidence.level)
        {
            ordered(&mut checks, &format!("{name}: p_value"), &[p, adjusted, level]);
            checks.equal(&format!("{name}: disturbed"), u64::from(evidence.disturbed), 0, "no disturbed run");
        }
    }
    if let Some(best) = study.tuned.as_ref().and_then(|tuned| tuned.best.as_ref())
        && study.schema == SCHEMA
    {
        checks.equal("tuned.best: disturbed", u64::from(best.disturbed), 0, "no disturbed run");
    }
    if let Some(overhead) = &study.recording_overhead {
        interval(&mut checks, "recording_overhead.throughput_ratio", &overhead.throughput_ratio);
        if let Some(ratio) = &overhead.cpu_ratio {
            interval(&mut checks, "recording_overhead.cpu_ratio", ratio);
        }
        share(&mut checks, "recording_overhead.recorder_cpu_share", overhead.recorder_cpu_share);
    }
    checks
}

/// The checks of one run; none are made of one that did not end well.
#[must_use]
pub fn check_run(of: &Run) -> Checks {
    let mut checks = Checks::default();
    run(&mut checks, of);
    checks
}

fn run(checks: &mut Checks, run: &Run) {
    if run.outcome != Outcome::Complete {
        return;
    }
    latency(checks, run);
    switches(checks, run);
    waits(checks, run);
    if let Some(of_cpus) = &run.cpu {
        cpu(checks, run, of_cpus);
    }
    over_time(checks, run);
}

fn latency(checks: &mut Checks, run: &Run) {
    let name = |figure: &str| format!("{}: {figure}", run.id);
    if let Some(speed) = run.images_per_second {
        checks.finite(&name("images_per_second"), speed);
    }
    let Some(latency) = run.latency_ns else { return };
    for value in [latency.p50, latency.p90, latency.p99, latency.max, latency.mean] {
        checks.finite(&name("latency_ns"), value);
    }
    ordered(checks, &name("latency_ns"), &[latency.p50, latency.p90, latency.p99, latency.max]);
    at_most(checks, &name("latency_ns.mean"), latency.mean, latency.max, "the largest latency");
    let Some(duration_ns) = run.duration_ns else { return };
    at_most(checks, &name("latency_ns.max"), latency.max, duration_ns as f64, "the measured phase in ns");
    if let (Some(inferences), Some(concurrency)) = (run.inferences, run.concurrency) {
        let bound = duration_ns as f64 * f64::from(concurrency);
        let what = "the measured phase times the inferences at once, in ns";
        at_most(checks, &name("inferences"), inferences as f64 * latency.mean, bound, what);
    }
}

fn switches(checks: &mut Checks, run: &Run) {
    let Some(switches) = run.switches else { return };
    let each = run.per_inference.map(|figures| (figures.voluntary, figures.involuntary)).unwrap_or_default();
    let rate = run.per_second.map(|figures| (figures.voluntary, figures.involuntary)).unwrap_or_default();
    let kinds = [
        ("voluntary", switches.voluntary, each.0, rate.0),
        ("involuntary", switches.involuntary, each.1, rate.1),
    ];
    for (kind, count, each, rate) in kinds {
        if let (Some(each), Some(inferences)) = (each, run.inferences) {
            let figure = format!("{}: per_inference.{kind}", run.id);
            equal(checks, &figure, each * inferences as f64, count, "the switches counted");
        }
        if let (Some(rate), Some(duration_ns)) = (rate, run.duration_ns) {
            let figure = format!("{}: per_second.{kind}", run.id);
            equal(checks, &figure, rate * duration_ns as f64 / 1e9, count, "the switches counted");
        }
    }
}

fn waits(checks: &mut Checks, run: &Run) {
    let bounds = run.wait_share_bounds;
    let known = [bounds.and_then(|of| of.low), run.wait_share_of_latency, bounds.and_then(|of| of.high)];
    let shares: Vec<f64> = known.into_iter().flatten().collect();
    for share_of in &shares {
        share(checks, &format!("{}: wait_share_of_latency", run.id), Some(*share_of));
    }
    ordered(checks, &format!("{}: wait_share_bounds", run.id), &shares);
}

/// That the parts of the CPUs' time add up.
fn cpu(checks: &mut Checks, run: &Run, cpu: &CpuUse) {
    let name = |figure: &str| format!("{}: cpu{figure}", run.id);
    share(checks, &name(".utilisation"), cpu.utilisation);
    let (Some(capacity_ns), Some(tolerance_ns), Some(window_ns)) =
        (cpu.capacity_ns(), cpu.tolerance_ns, cpu.window_ns)
    else {
        return;
    };
    let parts = [cpu.own_ns, cpu.measuring_ns, cpu.foreign_ns, cpu.idle_ns, cpu.steal_ns];
    let names = [".own_ns", ".measuring_ns", ".foreign_ns", ".idle_ns", ".steal_ns"];
    for (part, of) in parts.into_iter().zip(names) {
        let Some(part) = part else { continue };
        checks.at_most(&name(of), part, capacity_ns + tolerance_ns, "the time of the CPUs in ns");
    }
    if let [Some(own), measuring, Some(foreign), Some(idle), Some(steal)] = parts {
        let total_ns = own + measuring.unwrap_or(0) + foreign + idle + steal;
        checks.require(total_ns.abs_diff(capacity_ns) <= tolerance_ns, &name(""), || {
            format!(
                "own, others', idle and stolen time are {total_ns} ns together, and the CPUs have {capacity_ns} ns ({tolerance_ns} ns are allowed for)"
            )
        });
    }
    if let (Some(quota), Some(own_ns)) = (run.settings.cpu_quota, cpu.own_ns) {
        let bound = quota * (window_ns as f64 + PERIODS_NS) + tolerance_ns as f64;
        at_most(checks, &name(".own_ns"), own_ns as f64, bound, "the quota's time in ns");
    }
    let each = run.per_inference.and_then(|figures| figures.cpu_ns);
    if let (Some(each), Some(inferences), Some(own_ns)) = (each, run.inferences, cpu.own_ns) {
        let figure = format!("{}: per_inference.cpu_ns", run.id);
        equal(checks, &figure, each * inferences as f64, own_ns, "cpu.own_ns");
    }
}

fn over_time(checks: &mut Checks, run: &Run) {
    let Some(of) = &run.over_time else { return };
    let name = |figure: &str| format!("{}: over_time.{figure}", run.id);
    let length = of.at_ms.len();
    let lengths = [
        of.threads.len(),
        of.processes.len(),
        of.cpu_utilisation.len(),
        of.switches_per_s.len(),
        of.interrupts_per_s.len(),
    ];
    checks.require(lengths.iter().all(|other| *other == length), &name("at_ms"), || {
        format!("{length} values, and the other lists have {lengths:?}")
    });
    checks.require(of.at_ms.windows(2).all(|pair| pair[0] < pair[1]), &name("at_ms"), || {
        "times go backwards".to_owned()
    });
    for (figure, most, peak) in [
        ("threads", of.threads.iter().max(), run.threads_peak),
        ("processes", of.processes.iter().max(), run.processes_peak),
    ] {
        if let (Some(most), Some(peak)) = (most, peak) {
            checks.at_most(&name(figure), u64::from(*most), u64::from(peak), "the most that was seen");
        }
    }
    let rates = of.cpu_utilisation.iter().chain(&of.switches_per_s).chain(&of.interrupts_per_s);
    for value in rates.flatten() {
        checks.finite(&name("rates"), *value);
    }
}

fn summary(checks: &mut Checks, study: &Study, of: &Summary) {
    let name = |figure: &str| format!("summary of {}: {figure}", of.workload.slug);
    let runs: Vec<&Run> = study
        .runs
        .iter()
        .filter(|run| run.outcome == Outcome::Complete)
        .filter(|run| run.workload.slug == of.workload.slug && run.settings == of.settings)
        .collect();
    if study.schema == SCHEMA {
        against_runs(checks, &name, &runs, of);
    }
    checks.at_most(&name("disturbed"), u64::from(of.disturbed), u64::from(of.runs), "its runs");
    let estimates = [
        ("images_per_second", of.images_per_second),
        ("latency_p50_ns", of.latency_p50_ns),
        ("latency_p99_ns", of.latency_p99_ns),
        ("voluntary_per_inference", of.voluntary_per_inference),
        ("involuntary_per_inference", of.involuntary_per_inference),
        ("wait_share_of_latency", of.wait_share_of_latency),
    ];
    for (figure, estimate) in estimates {
        if let Some(estimate) = estimate {
            interval(checks, &name(figure), &estimate);
        }
    }
    if let (Some(p50), Some(p99)) = (of.latency_p50_ns, of.latency_p99_ns) {
        ordered(checks, &name("latency"), &[p50.median, p99.median]);
    }
}

/// That a summary is of the runs that are there. An older study may have been cut to one run of each setting to keep it small.
fn against_runs(checks: &mut Checks, name: &dyn Fn(&str) -> String, runs: &[&Run], of: &Summary) {
    checks.at_most(&name("runs"), u64::from(of.runs), runs.len() as u64, "the complete runs of it");
    let marked = runs.iter().filter(|run| run.disturbed.is_some()).count() as u64;
    checks.at_most(&name("disturbed"), u64::from(of.disturbed), marked, "the disturbed runs of it");
    let mut speeds: Vec<f64> = runs.iter().filter_map(|run| run.images_per_second).collect();
    speeds.sort_by(f64::total_cmp);
    if let (Some(speed), Some(least), Some(most)) = (of.images_per_second, speeds.first(), speeds.last()) {
        ordered(checks, &name("images_per_second"), &[*least, speed.ci_low, speed.ci_high, *most]);
    }
}

fn interval(checks: &mut Checks, figure: &str, of: &Estimate) {
    for value in [of.ci_low, of.median, of.ci_high] {
        checks.finite(figure, value);
    }
    ordered(checks, figure, &[of.ci_low, of.median, of.ci_high]);
    share(checks, &format!("{figure}: confidence"), of.confidence);
}

fn share(checks: &mut Checks, figure: &str, value: Option<f64>) {
    if let Some(value) = value {
        checks.finite(figure, value);
        at_most(checks, figure, value, 1.0, "the whole");
    }
}

fn at_most(checks: &mut Checks, figure: &str, value: f64, bound: f64, what: &str) {
    checks.require(value <= bound * (1.0 + ROUNDING), figure, || {
        format!("{value} is more than {what}, {bound}")
    });
}

fn equal(checks: &mut Checks, figure: &str, value: f64, count: u64, what: &str) {
    let other = count as f64;
    let near = (value - other).abs() <= ROUNDING * value.abs().max(other);
    checks.require(near, figure, || format!("{value} is not {what}, {count}"));
}

fn ordered(checks: &mut Checks, figure: &str, values: &[f64]) {
    let holds = values.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + ROUNDING));
    checks.require(holds, figure, || format!("{values:?} are not in order"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(name: &str) -> Study {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/studies").join(name);
        crate::read(&folder).unwrap()
    }

    /// The message about a study after a change to its first run. Empty if its figures pass.
    fn said(change: impl Fn(&mut Run)) -> String {
        let mut study = study("board");
        change(&mut study.runs[0]);
        check(&study).finish().map_or_else(|refused| refused.to_string(), |()| String::new())
    }

    #[test]
    fn studies_that_were_measured_pass() {
        for name in ["board", "cloud", "edge"] {
            let checks = check(&study(name));
            assert!(checks.made() > 100);
            checks.finish().unwrap();
        }
        assert_eq!(said(|_| ()), "");
    }

    #[test]
    fn own_and_others_time_above_the_cpus_is_refused() {
        let more = said(|run| {
            let cpu = run.cpu.as_mut().unwrap();
            let tenth = cpu.capacity_ns().unwrap() / 10;
            cpu.foreign_ns = cpu.foreign_ns.map(|ns| ns + tenth);
        });
        assert!(more.contains("own, others', idle and stolen time are"), "{more}");
    }

    #[test]
    fn every_kind_of_impossible_figure_is_refused() {
        let more = said(|run| run.switches.as_mut().unwrap().involuntary += 1 << 32);
        assert!(more.contains("is not the switches counted"), "{more}");
        let fall = said(|run| run.latency_ns.as_mut().unwrap().p90 = 0.0);
        assert!(fall.contains("are not in order"), "{fall}");
        let many = said(|run| run.inferences = run.inferences.map(|count| 2 * count));
        assert!(many.contains("the inferences at once"), "{many}");
        let whole = said(|run| run.wait_share_of_latency = Some(1.5));
        assert!(whole.contains("is more than the whole, 1"), "{whole}");
        let back = said(|run| run.over_time.as_mut().unwrap().at_ms[1] = 0.0);
        assert!(back.contains("times go backwards"), "{back}");
        let none = said(|run| run.outcome = Outcome::Crashed);
        assert!(none.contains("more than the complete runs of it"), "{none}");
    }
}
