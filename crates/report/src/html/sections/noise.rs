//! What disturbed the runs, what is flagged, and what could not be measured.

use swtch_profile::Profile;
use swtch_profile::model::{Ended, Estimate, KernelThreads};
use swtch_profile::vocabulary::Flag;

use super::Profiles;
use crate::html::prelude::*;

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let nothing = "Everything that was asked for could be measured.";
    Section::bare("noise", "Noise")
        .put(subjects.iter().map(|one| one.prefixed(&summary(one.of))))
        .put([subjects.fact_table("The run and its clock", run)])
        .heading("Flagged figures")
        .put(flags(subjects))
        .heading("Not measured, and why")
        .put([subjects.unavailable("What could not be measured").or(nothing)])
}

fn summary(profile: &Profile) -> String {
    let noise = &profile.noise;
    if noise.batches == 0 {
        return "The profile counts no batches.".to_owned();
    }
    let share = f64::from(noise.rejected) / f64::from(noise.batches);
    let measured = text::count(noise.batches.into());
    if noise.rejected == 0 {
        return format!("{measured} batches were measured; none was left out.");
    }
    let reasons = noise
        .reasons
        .iter()
        .map(|reason| format!("{} because {}", text::count(reason.batches.into()), reason.reason.meaning()));
    let reasons = text::joined(&reasons.collect::<Vec<_>>());
    let why = if reasons.is_empty() { String::new() } else { format!(": {reasons}") };
    format!(
        "{measured} batches were measured; {} ({}) were left out{why}.",
        text::count(noise.rejected.into()),
        text::percent(share)
    )
}

fn throttled(ns: u64) -> String {
    if ns == 0 { "never".to_owned() } else { text::ns(ns as f64) }
}

fn kernel_threads(threads: KernelThreads) -> String {
    format!(
        "{:.1} runs a second of {} beside a task that computes",
        threads.runs_per_second,
        text::ns(threads.mean_run_ns)
    )
}

fn run(profile: &Profile) -> Vec<(&'static str, String)> {
    let Profile { provenance: run, clock, noise, .. } = profile;
    let or = |value: Option<String>, none: &str| value.unwrap_or_else(|| none.to_owned());
    let counted = |value: Option<String>| or(value, "not counted here");
    vec![
        ("Source", run.source.clone()),
        ("Written by", format!("swtch {}", run.swtch_version)),
        ("Started", text::date(run.started_unix_s)),
        ("Took", text::seconds(run.elapsed_s)),
        ("Preset", run.preset.clone()),
        ("Ended", ended(run.ended).to_owned()),
        ("Precision aimed at", format!("±{} of the median", text::percent(run.precision))),
        ("Launches", text::count(run.launches.into())),
        ("Batches", text::count(noise.batches.into())),
        ("Batches left out", text::count(noise.rejected.into())),
        ("Taken by the hypervisor (steal)", counted(noise.steal_share.map(text::percent))),
        ("Taken by other tasks", counted(noise.foreign_share.map(text::percent))),
        ("Variation of a spin loop", or(noise.spin_cov.map(text::percent), "not measured")),
        ("Throttled by a CPU quota", counted(noise.throttled_ns.map(throttled))),
        ("The kernel's own threads", counted(noise.kernel_threads.map(kernel_threads))),
        ("Clock", clock.source.clone()),
        ("Clock rate", or(clock.frequency_hz.map(|hz| format!("{:.3} MHz", hz / 1e6)), "not applicable")),
        (
            "Calibrated within",
            or(clock.calibration_ppm.map(|ppm| format!("±{ppm:.2} ppm")), "not applicable"),
        ),
        ("Smallest step", text::ns(clock.resolution_ns)),
        ("One reading takes", text::ns(clock.overhead_ns)),
        ("Why not a faster clock", or(clock.fallback_why.clone(), "the fastest was used")),
        ("Seed of the order", run.order_seed.to_string()),
        ("Raw samples", or(profile.samples.clone(), "not kept")),
    ]
}

fn ended(ended: Ended) -> &'static str {
    match ended {
        Ended::Complete => "complete",
        Ended::Precision => "when the intervals were narrow enough",
        Ended::TimeLimit => "at the time limit; intervals may be wider than aimed at",
        Ended::Interrupted => "interrupted; what was complete is kept",
    }
}

/// Every estimate of a profile with what it is.
fn estimates(profile: &Profile) -> Vec<(String, &Estimate)> {
    let direct = profile.direct.iter().map(|row| {
        let core = profile.core_of(row).map(|core| format!(" ({core})")).unwrap_or_default();
        let tasks = naming::tasks_and_class(row);
        (format!("c1, {}, {tasks}, {}{core}", row.method, row.placement), &row.switch_cost_ns)
    });
    let total = profile.total.iter().map(|row| {
        let (array, stride) = (text::bytes(row.array_bytes), text::bytes(row.stride_bytes));
        (format!("c2, {array}, stride {stride}, {}", row.access), &row.total_cost_ns)
    });
    let ring = profile.ring.iter().map(|row| {
        let name = format!("ring, {} processes, {}", row.processes, text::bytes(row.array_bytes));
        (name, &row.switch_cost_ns)
    });
    let messages = profile.messages.iter().map(|row| (row.name(), &row.message_ns));
    let references = &profile.references;
    let references = [
        ("system call", &references.syscall_ns),
        ("thread create", &references.thread_create_ns),
        ("fork", &references.fork_ns),
    ];
    let references =
        references.into_iter().filter_map(|(name, estimate)| Some((name.to_owned(), estimate.as_ref()?)));
    direct.chain(total).chain(ring).chain(messages).chain(references).collect()
}

fn flags(subjects: Profiles<'_>) -> Vec<Block> {
    let mut seen: Vec<Flag> = Vec::new();
    let mut rows = Vec::new();
    for one in subjects.iter() {
        for (name, estimate) in estimates(one.of).into_iter().filter(|(_, one)| !one.flags.is_empty()) {
            seen.extend(&estimate.flags);
            let median = Cell::number("Median", text::ns(estimate.median));
            rows.push(one.row(name, vec![median, Cell::text("Flags", Flag::list(&estimate.flags))]));
        }
    }
    if rows.is_empty() {
        return vec!["No figure carries a warning.".to_owned().into()];
    }
    let items = once(seen).iter().map(|flag| Definition::new(flag.name(), flag.meaning())).collect();
    let table = Table::new("Figures that carry a warning", "Figure", rows);
    vec![Block::Definitions { items }, table.into()]
}
