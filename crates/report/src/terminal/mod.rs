//! A Profile as text for a terminal: the answer first, then what it rests on.

mod accuracy;
mod bench;
mod capabilities;
mod compared;
mod diff;
mod flags;
mod policies;
mod probe;
mod recording;
mod stacks;
#[cfg(test)]
mod tests;
pub mod top;
mod tried;

use crate::wording::naming::region_name;
use crate::wording::{caveats, headline, text};
use flags::Flags;
use swtch_cost::profile_caveats;
use swtch_profile::Profile;
use swtch_profile::model::{Direct, Ended, Estimate, Knee, Ring, Total, Unavailable};
use swtch_profile::vocabulary::Access;
use swtch_topology::Placement;
use swtch_units::{Bytes, TextTable, format_ns};

pub use crate::wording::wrap::{WIDTH, paragraph};
pub use accuracy::accuracy;
pub use bench::bench;
pub use capabilities::capabilities;
pub use compared::compared;
pub use diff::diff;
pub use policies::policies;
pub use probe::probe;
pub use recording::recording;
pub use tried::tried;

/// The whole Profile as lines of at most [`WIDTH`] columns; the answer is the first paragraph.
pub fn profile(profile: &Profile) -> String {
    let mut text = paragraph("", &headline::sentence(profile), 0);
    text.push_str(&caveats::notes(&profile_caveats(profile), "Note:", "the Profile"));
    for section in
        [direct(profile), total(profile), ring(&profile.ring), messages(profile), references(profile)]
    {
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
    text::range(&format_ns(estimate.ci_low), &format_ns(estimate.ci_high), ' ')
}

/// Rows of one placement under its name.
fn direct(profile: &Profile) -> String {
    let titles =
        ["method", "tasks", "class", "median", "95 % interval", "undisturbed", "mean", "switches", ""];
    let mut table = TextTable::new(titles).left([1, 2, 8]);
    let mut flags = Flags::default();
    let mut places: Vec<(Placement, &[u32])> = Vec::new();
    for row in &profile.direct {
        if !places.contains(&(row.placement, &row.cpus)) {
            places.push((row.placement, &row.cpus));
        }
    }
    for place in places {
        let rows = || profile.direct.iter().filter(|row| (row.placement, &row.cpus[..]) == place);
        table.heading(rows().next().map(|row| place_name(profile, row)).unwrap_or_default());
        for row in rows() {
            let cost = &row.switch_cost_ns;
            let switches =
                row.switches_per_round_trip.map_or_else(|| "n/a".to_owned(), |count| format!("{count:.2}"));
            table.row([
                row.method.to_string(),
                row.tasks.to_string(),
                row.class.to_string(),
                format_ns(cost.median),
                plus_minus(cost),
                format_ns(cost.undisturbed),
                format_ns(cost.mean),
                switches,
                flags.letters(&cost.flags),
            ]);
        }
    }
    table.under("Direct cost of a switch (c1), baseline subtracted; switches: counted, per round trip")
        + &flags.legend()
}

/// `same-cpu, CPU 1, efficiency core`, `shared-l3, CPUs 0 and 1`, `unpinned`.
fn place_name(profile: &Profile, row: &Direct) -> String {
    let cpus: Vec<String> = row.cpus.iter().map(ToString::to_string).collect();
    let mut name = match cpus.len() {
        0 => row.placement.to_string(),
        1 => format!("{}, CPU {}", row.placement, cpus[0]),
        _ => format!("{}, CPUs {}", row.placement, cpus.join(" and ")),
    };
    if let Some(core) = profile.core_of(row) {
        name.push_str(&format!(", {core}"));
    }
    name
}

fn total(profile: &Profile) -> String {
    let titles = ["array", "stride", "access", "c2", "95 % interval", "c2 - c1", "undist.", "region"];
    let mut table = TextTable::new(titles).right(0).left([2, 7]);
    let mut flags = Flags::default();
    for row in &profile.total {
        let cost = &row.total_cost_ns;
        table.row([
            Bytes::new(row.array_bytes).to_string(),
            Bytes::new(row.stride_bytes).to_string(),
            row.access.to_string(),
            format_ns(cost.median),
            plus_minus(cost),
            format_ns(row.indirect_cost_ns.median),
            format_ns(row.indirect_cost_ns.undisturbed),
            format!("{} {}", region(profile, row), flags.letters(&cost.flags)).trim().to_owned(),
        ]);
    }
    let heading =
        "Cost of a switch whose tasks go through an array each (c2); c2 - c1 is the refilling of caches";
    let mut text = table.under(heading);
    text.push_str(&flags.legend());
    if !profile.regions.is_empty() {
        let kinds = "fits: both arrays stay in the cache; interferes: they displace each other; exceeds: one alone misses \
                     too";
        text.push_str(&paragraph("  ", kinds, 2));
    }
    text
}

/// The region that begins with this row of the sequential curve.
fn region(profile: &Profile, row: &Total) -> &'static str {
    let sequential = row.stride_bytes == 8 && row.access == Access::ReadModifyWrite;
    let begins = profile.regions.iter().find(|region| sequential && region.from_bytes == row.array_bytes);
    begins.map_or("", |region| region_name(region.kind))
}

/// Processes across, array sizes down, as `lat_ctx` prints it.
fn ring(rows: &[Ring]) -> String {
    let mut lengths: Vec<u32> = rows.iter().map(|row| row.processes).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.array_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let flagged = rows.iter().any(|row| !row.switch_cost_ns.flags.is_empty());
    let titles = std::iter::once("array".to_owned()).chain(lengths.iter().map(ToString::to_string));
    let mut table = TextTable::new(titles).right(0);
    for size in sizes {
        let at = |length: &u32| {
            rows.iter()
                .find(|row| row.processes == *length && row.array_bytes == size)
                .map_or_else(|| "-".to_owned(), |row| cell(row, flagged))
        };
        table.row(std::iter::once(Bytes::new(size).to_string()).chain(lengths.iter().map(at)));
    }
    let heading = "Ring of processes: a hop, by array size (down) and number of processes (across)";
    let mut text = table.under(heading);
    if flagged {
        let mut kinds: Vec<&str> =
            rows.iter().flat_map(|row| &row.switch_cost_ns.flags).map(|flag| flag.name()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        text.push_str(&paragraph("  *: ", &kinds.join(" or "), 5));
    }
    text
}

/// With a star, or room for one, where a row of the ring has a flag.
fn cell(row: &Ring, flagged: bool) -> String {
    let star = match (flagged, row.switch_cost_ns.flags.is_empty()) {
        (false, _) => "",
        (true, true) => " ",
        (true, false) => "*",
    };
    format_ns(row.switch_cost_ns.median) + star
}

fn references(profile: &Profile) -> String {
    let references = &profile.references;
    let mut table = TextTable::new(["operation", "median", "95 % interval", "undisturbed", ""]).left([4]);
    let mut flags = Flags::default();
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
                format_ns(estimate.undisturbed),
                flags.letters(&estimate.flags),
            ]);
        }
    }
    table.under("For scale") + &flags.legend()
}

fn messages(profile: &Profile) -> String {
    let head = ["through", "placement", "channels", "deep", "median", "95 % interval", "on one CPU", ""];
    let mut table = TextTable::new(head).left([1, 7]);
    let mut flags = Flags::default();
    for row in &profile.messages {
        table.row([
            row.carrier.to_string(),
            row.placement.to_string(),
            row.channels.to_string(),
            row.depth.to_string(),
            format_ns(row.message_ns.median),
            plus_minus(&row.message_ns),
            row.one_cpu_ns.map_or_else(String::new, format_ns),
            flags.letters(&row.message_ns.flags),
        ]);
    }
    table.under("A message of 100 bytes, written and read, without a wake-up") + &flags.legend()
}

fn circumstances(profile: &Profile) -> String {
    let noise = &profile.noise;
    let mut lines = Vec::new();
    if profile.provenance.source != "measured" {
        lines.push(format!("These figures are {}, not measured.", profile.provenance.source));
    }
    let kernel = &profile.host.kernel;
    lines.push(format!(
        "{}, Linux {}{}, clock {}",
        profile.host.cpu_model.as_deref().unwrap_or("unknown CPU"),
        kernel.release,
        kernel.preemption.as_deref().map(|model| format!(" (preemption {model})")).unwrap_or_default(),
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
    }
    let row = |row: &Unavailable| paragraph("  ", &format!("{}: {}", row.field, row.reason), 4);
    lines.iter().map(|line| paragraph("", line, 2)).chain(profile.unavailable.iter().map(row)).collect()
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
