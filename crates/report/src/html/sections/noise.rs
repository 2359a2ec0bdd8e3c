//! What disturbed the runs, what is flagged, and what could not be measured.

use swtch_profile::Profile;
use swtch_profile::model::{Ended, Estimate};
use swtch_profile::vocabulary::Flag;

use super::super::naming;
use super::super::page::{Block, Cell, Definition, Section, Table};
use super::super::text;
use super::Profiles;

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let mut section = Section::bare("noise", "Noise");
    for (i, named) in subjects.iter() {
        section.say(subjects.prefixed(i, &summary(&named.profile)));
    }
    section.put([run_table(subjects)]);
    section.heading("Flagged figures");
    section.put(flags(subjects));
    section.heading("Not measured, and why");
    let nothing = "Everything that was asked for could be measured.";
    section.put([subjects.unavailable("What could not be measured").or(nothing)]);
    section
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

fn run_table(subjects: Profiles<'_>) -> Table {
    subjects.fact_table("The run and its clock", |named| {
        let p = &named.profile;
        let run = &p.provenance;
        let clock = &p.clock;
        let or = |value: Option<String>, none: &str| value.unwrap_or_else(|| none.to_owned());
        vec![
            ("Source", run.source.clone()),
            ("Written by", format!("swtch {}", run.swtch_version)),
            ("Started", text::date(run.started_unix_s)),
            ("Took", text::seconds(run.elapsed_s)),
            ("Preset", run.preset.clone()),
            ("Ended", ended(run.ended).to_owned()),
            ("Precision aimed at", format!("±{} of the median", text::percent(run.precision))),
            ("Launches", text::count(run.launches.into())),
            ("Batches", text::count(p.noise.batches.into())),
            ("Batches left out", text::count(p.noise.rejected.into())),
            (
                "Taken by the hypervisor (steal)",
                or(p.noise.steal_share.map(text::percent), "not counted here"),
            ),
            ("Taken by other tasks", or(p.noise.foreign_share.map(text::percent), "not counted here")),
            ("Variation of a spin loop", or(p.noise.spin_cov.map(text::percent), "not measured")),
            ("Throttled by a CPU quota", or(p.noise.throttled_ns.map(throttled), "not counted here")),
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
            ("Raw samples", or(p.samples.clone(), "not kept")),
        ]
    })
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
    let mut all: Vec<(String, &Estimate)> = Vec::new();
    for row in &profile.direct {
        let core = profile.core_of(row).map(|core| format!(" ({core})")).unwrap_or_default();
        let name = format!("c1, {}, {}, {}{core}", row.method, naming::tasks_and_class(row), row.placement);
        all.push((name, &row.switch_cost_ns));
    }
    for row in &profile.total {
        let name = format!(
            "c2, {}, stride {}, {}",
            text::bytes(row.array_bytes),
            text::bytes(row.stride_bytes),
            row.access
        );
        all.push((name, &row.total_cost_ns));
    }
    for row in &profile.ring {
        all.push((
            format!("ring, {} processes, {}", row.processes, text::bytes(row.array_bytes)),
            &row.switch_cost_ns,
        ));
    }
    all.extend(profile.messages.iter().map(|row| (row.name(), &row.message_ns)));
    let references = &profile.references;
    all.extend(references.syscall_ns.as_ref().map(|e| ("system call".to_owned(), e)));
    all.extend(references.thread_create_ns.as_ref().map(|e| ("thread create".to_owned(), e)));
    all.extend(references.fork_ns.as_ref().map(|e| ("fork".to_owned(), e)));
    all
}

fn flags(subjects: Profiles<'_>) -> Vec<Block> {
    let mut seen: Vec<Flag> = Vec::new();
    let flagged = subjects.iter().flat_map(|(index, named)| {
        let flagged =
            estimates(&named.profile).into_iter().filter(|(_, estimate)| !estimate.flags.is_empty());
        flagged.map(move |(name, estimate)| (index, name, estimate))
    });
    let rows = flagged.map(|(index, name, estimate)| {
        for flag in &estimate.flags {
            if !seen.contains(flag) {
                seen.push(*flag);
            }
        }
        let median = Cell::number("Median", text::ns(estimate.median));
        (index, name, vec![median, Cell::text("Flags", Flag::list(&estimate.flags))])
    });
    let table = subjects.table("Figures that carry a warning", "Figure", rows);
    if table.rows.is_empty() {
        return vec![Block::paragraph("No figure carries a warning.")];
    }
    let items = seen.iter().map(|flag| Definition::new(flag.name(), flag.meaning())).collect();
    vec![Block::Definitions { items }, Block::Table(table)]
}
