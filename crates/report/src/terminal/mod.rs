//! A Profile as text for a terminal: the answer first, then what it rests on.

mod comparison;
mod recording;
mod table;

use swtch_profile::Profile;
use swtch_profile::model::{Direct, Ended, Estimate, Knee, Ring, Total};
use swtch_units::{Bytes, format_ns};
use table::Table;

pub use comparison::comparison;
pub use recording::recording;

/// The whole Profile as lines of at most about 100 columns.
pub fn profile(profile: &Profile) -> String {
    let mut text = crate::html::answer::sentence(profile);
    text.push('\n');
    for section in [direct(&profile.direct), total(profile), ring(&profile.ring), references(profile)] {
        if !section.is_empty() {
            text.push('\n');
            text.push_str(&section);
        }
    }
    text.push('\n');
    text.push_str(&circumstances(profile));
    text
}

/// `1.63 to 1.64 µs`; both units where they differ.
fn plus_minus(estimate: &Estimate) -> String {
    let (low, high) = (format_ns(estimate.ci_low), format_ns(estimate.ci_high));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

fn direct(rows: &[Direct]) -> String {
    let mut table = Table::new(&[
        "method",
        "tasks",
        "where",
        "class",
        "median",
        "95 % interval",
        "low",
        "mean",
        "switches",
        "",
    ]);
    for row in rows {
        let cost = &row.switch_cost_ns;
        let switches =
            row.switches_per_round_trip.map_or_else(|| "n/a".to_owned(), |count| format!("{count:.2}"));
        table.row([
            row.method.clone(),
            row.tasks.clone(),
            place(row),
            row.class.clone(),
            format_ns(cost.median),
            plus_minus(cost),
            format_ns(cost.low),
            format_ns(cost.mean),
            switches,
            cost.flags.join(" "),
        ]);
    }
    table.render(
        "Direct cost of a switch (c1), baseline subtracted; switches: counted, per round trip",
        &[4, 5, 6, 7, 8],
    )
}

fn place(row: &Direct) -> String {
    if row.cpus.is_empty() {
        return row.placement.clone();
    }
    let cpus: Vec<String> = row.cpus.iter().map(ToString::to_string).collect();
    format!("{} ({})", row.placement, cpus.join(","))
}

fn total(profile: &Profile) -> String {
    let mut table = Table::new(&["array", "stride", "access", "c2", "95 % interval", "c2 - c1", "low", ""]);
    for row in &profile.total {
        let cost = &row.total_cost_ns;
        table.row([
            Bytes::new(row.array_bytes).to_string(),
            Bytes::new(row.stride_bytes).to_string(),
            row.access.clone(),
            format_ns(cost.median),
            plus_minus(cost),
            format_ns(row.indirect_cost_ns.median),
            format_ns(row.indirect_cost_ns.low),
            remark(profile, row),
        ]);
    }
    table.render(
        "Cost of a switch whose tasks go through an array each (c2); c2 - c1 is the refilling of caches",
        &[0, 1, 3, 4, 5, 6],
    )
}

/// Where a region begins on the sequential curve, and the row's warnings.
fn remark(profile: &Profile, row: &Total) -> String {
    let mut words = row.total_cost_ns.flags.clone();
    let sequential = row.stride_bytes == 8 && row.access == "read-modify-write";
    let begins = profile.regions.iter().find(|region| region.from_bytes == row.array_bytes);
    if let (true, Some(region)) = (sequential, begins) {
        let kind = match region.kind {
            swtch_profile::model::RegionKind::Fits => "from here: both arrays fit",
            swtch_profile::model::RegionKind::Interferes => "from here: they displace each other",
            swtch_profile::model::RegionKind::Exceeds => "from here: one alone misses too",
        };
        words.push(kind.to_owned());
    }
    words.join(" ")
}

/// Processes across, array sizes down, as `lat_ctx` prints it.
fn ring(rows: &[Ring]) -> String {
    let mut lengths: Vec<u32> = rows.iter().map(|row| row.processes).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.array_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let titles: Vec<String> =
        std::iter::once("array".to_owned()).chain(lengths.iter().map(ToString::to_string)).collect();
    let mut table = Table::new(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for size in sizes {
        let cell = |length: &u32| {
            rows.iter()
                .find(|row| row.processes == *length && row.array_bytes == size)
                .map_or_else(|| "-".to_owned(), |row| format_ns(row.switch_cost_ns.median))
        };
        table.row(std::iter::once(Bytes::new(size).to_string()).chain(lengths.iter().map(cell)));
    }
    let right: Vec<usize> = (0..=lengths.len()).collect();
    table.render("Ring of processes: a hop, by array size (down) and number of processes (across)", &right)
}

fn references(profile: &Profile) -> String {
    let references = &profile.references;
    let mut table = Table::new(&["operation", "median", "95 % interval", "low"]);
    let rows = [
        ("system call (getppid)", &references.syscall_ns),
        ("thread create + join", &references.thread_create_ns),
        ("fork + exit + wait", &references.fork_ns),
    ];
    for (name, estimate) in rows {
        if let Some(estimate) = estimate {
            table.row([
                name.to_owned(),
                format_ns(estimate.median),
                plus_minus(estimate),
                format_ns(estimate.low),
            ]);
        }
    }
    table.render("For scale", &[1, 2, 3])
}

fn circumstances(profile: &Profile) -> String {
    let noise = &profile.noise;
    let mut lines = Vec::new();
    let kernel = &profile.host.kernel;
    lines.push(format!(
        "{}, {} {}, clock {}",
        profile.host.cpu_model.as_deref().unwrap_or("unknown processor"),
        kernel.release,
        kernel.preemption.as_deref().map(|model| format!("(preemption {model})")).unwrap_or_default(),
        profile.clock.source,
    ));
    for knee in &profile.knees {
        lines.push(knee_line(knee));
    }
    let reasons: Vec<String> =
        noise.reasons.iter().map(|row| format!("{} {}", row.batches, row.reason)).collect();
    let mut noise_line = format!(
        "{} batches from {} fresh processes in {:.1} s; {} left out{}",
        noise.batches,
        profile.provenance.launches,
        profile.provenance.elapsed_s,
        noise.rejected,
        if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) },
    );
    if let Some(share) = noise.steal_share {
        noise_line.push_str(&format!("; {:.1} % stolen by the hypervisor", share * 100.0));
    }
    if let Some(ns) = noise.throttled_ns.filter(|ns| *ns > 0) {
        noise_line.push_str(&format!("; throttled for {}", format_ns(ns as f64)));
    }
    lines.push(noise_line);
    match profile.provenance.ended {
        Ended::Interrupted => lines.push("Interrupted: what is shown was complete.".to_owned()),
        Ended::TimeLimit => lines.push("The time limit came before every condition had its turn.".to_owned()),
        _ => {}
    }
    if !profile.unavailable.is_empty() {
        lines.push("Not measured:".to_owned());
        lines.extend(profile.unavailable.iter().map(|row| format!("  {}: {}", row.what, row.why)));
    }
    lines.join("\n") + "\n"
}

fn knee_line(knee: &Knee) -> String {
    let size = Bytes::new(knee.array_bytes);
    let what = if knee.kind == "rise" { "begins to rise" } else { "levels off" };
    match (knee.cache_level, knee.cache_bytes, knee.predicted_bytes) {
        (Some(level), Some(cache), Some(predicted)) => {
            let verdict = if knee.agrees { "as predicted by" } else { "not where one would expect it from" };
            format!(
                "The cost {what} at arrays of {size}, {verdict} the L{level} of {} (expected at {})",
                Bytes::new(cache),
                Bytes::new(predicted)
            )
        }
        _ => format!("The cost {what} at arrays of {size}; the machine reports no caches"),
    }
}
