//! From what was gathered to a [`Profile`] and the table of raw samples.

use crate::condition::{Condition, Reference, Work};
use crate::estimate::{AcceptedBatches, Collected};
use crate::kernels::messages::MESSAGE_BYTES;
use crate::plan::ProfilePart;
use crate::regions;
use crate::run::Gathered;
use crate::traversal::ELEMENT_BYTES;
use swtch_profile::fields;
use swtch_profile::model::{
    Direct, Estimate, Indirect, Message, Noise, NoiseReason, Profile, References, Ring, Total, Unavailable,
};
use swtch_profile::samples::Sample;
use swtch_profile::vocabulary::{Access, Rejection};
use swtch_stats as stats;

/// Puts the figures of the batches into `profile`. `counted` says whether the kernel counts switches here.
pub(crate) fn fill(profile: &mut Profile, gathered: &Gathered, counted: bool) {
    let spin_ns = usual_spin_ns(gathered);
    profile.noise = noise(gathered, spin_ns, counted);
    profile.unavailable.extend_from_slice(&gathered.unavailable);
    for (part, collected) in &gathered.conditions {
        let kept = collected.keep(spin_ns, counted);
        if kept.made_no_switches() {
            let why = "the tasks made almost no switches, so a cost for each cannot be computed".to_owned();
            profile.unavailable.push(Unavailable::new(collected.condition.to_string(), why));
            continue;
        }
        match part {
            ProfilePart::Direct => profile.direct.push(direct(&collected.condition, &kept)),
            ProfilePart::Ring => profile.ring.push(ring(&collected.condition, &kept)),
            ProfilePart::Messages => profile.messages.push(message(&collected.condition, &kept)),
            ProfilePart::Reference => reference(&mut profile.references, &collected.condition, &kept),
            ProfilePart::Total => {}
        }
    }
    add_total(profile, gathered, spin_ns, counted);
    add_regions(profile);
}

fn usual_spin_ns(gathered: &Gathered) -> f64 {
    let all = gathered.conditions.iter().flat_map(|(_, collected)| collected.launches.iter().flatten());
    stats::median(&all.map(|batch| batch.spin_ns).collect::<Vec<_>>())
}

fn direct(condition: &Condition, kept: &AcceptedBatches<'_>) -> Direct {
    let Work::Switch { method, tasks, .. } = condition.work else {
        unreachable!("a direct cost is of switches")
    };
    Direct {
        method,
        tasks,
        placement: condition.placement,
        cpus: condition.cpus.clone(),
        class: condition.class,
        switch_cost_ns: kept.net(),
        round_trip_ns: kept.gross(),
        switches_per_round_trip: kept.switches_per_round(),
        involuntary_share: kept.involuntary_share(),
        expected_switches_per_round_trip: condition.expected_switches_per_round(),
        baseline_ns: kept.baseline_per_switch_ns(),
    }
}

fn ring(condition: &Condition, kept: &AcceptedBatches<'_>) -> Ring {
    let Work::Switch { count, pattern, .. } = condition.work else { unreachable!("a ring is of switches") };
    Ring {
        processes: count,
        array_bytes: pattern.array_bytes,
        switch_cost_ns: kept.net(),
        baseline_ns: kept.baseline_operation_ns() / f64::from(count),
        switches_per_hop: kept.switches_per_round().map(|switches| switches / f64::from(count)),
    }
}

fn message(condition: &Condition, kept: &AcceptedBatches<'_>) -> Message {
    let Work::Messages { carrier, channels, depth } = condition.work else {
        unreachable!("a message is of messages")
    };
    let per_round = condition.messages_per_round();
    Message {
        carrier,
        placement: condition.placement,
        cpus: condition.cpus.clone(),
        channels,
        depth,
        message_bytes: MESSAGE_BYTES as u64,
        message_ns: kept.per_message(per_round),
        write_share: kept.write_share(),
        one_cpu_ns: (condition.cpus.len() > 1).then(|| kept.baseline_operation_ns() / per_round),
    }
}

fn reference(references: &mut References, condition: &Condition, kept: &AcceptedBatches<'_>) {
    let Work::Reference(which) = condition.work else { return };
    let place = match which {
        Reference::Syscall => &mut references.syscall_ns,
        Reference::Fork => &mut references.fork_ns,
        Reference::ThreadCreate => &mut references.thread_create_ns,
    };
    *place = Some(kept.gross());
}

fn add_total(profile: &mut Profile, gathered: &Gathered, spin_ns: f64, counted: bool) {
    let totals = || gathered.conditions.iter().filter(|(part, _)| *part == ProfilePart::Total);
    let Some(c1) = profile.direct.iter().find(|row| row.is_c1()).map(|row| row.switch_cost_ns.clone()) else {
        if totals().next().is_some() {
            let why = "c1 of the pipe between processes is missing, and c2 - c1 needs it".to_owned();
            profile.unavailable.push(Unavailable::new(fields::TOTAL, why));
        }
        return;
    };
    for (_, collected) in totals() {
        profile.total.push(total(collected, &collected.keep(spin_ns, counted), &c1));
    }
    profile.total.sort_by_key(|row| (row.array_bytes, row.stride_bytes, row.access.name()));
    profile.ring.sort_by_key(|row| (row.array_bytes, row.processes));
}

/// The regions of the sequential curve, of the access with the most points.
fn add_regions(profile: &mut Profile) {
    let curve = |access: Access| -> Vec<regions::Point> {
        profile
            .total
            .iter()
            .filter(|row| row.access == access && row.stride_bytes == ELEMENT_BYTES)
            .map(|row| regions::Point {
                array_bytes: row.array_bytes,
                total_cost_ns: row.total_cost_ns.undisturbed,
            })
            .collect()
    };
    let Some(points) = Access::ALL.iter().rev().map(|access| curve(*access)).max_by_key(Vec::len) else {
        return;
    };
    let cpu = profile.direct.iter().find_map(|row| row.cpus.first()).copied().unwrap_or(0);
    let caches = profile.host.data_caches_of(swtch_units::CpuId::new(cpu));
    let (regions, knees) = regions::find(&points, &caches);
    (profile.regions, profile.knees) = (regions, knees);
    if profile.regions.is_empty() && !profile.total.is_empty() {
        let why = format!("fewer than {} array sizes show no shape", regions::FEWEST_POINTS);
        profile.unavailable.push(Unavailable::new(fields::REGIONS, why));
    }
}

fn total(collected: &Collected, kept: &AcceptedBatches<'_>, c1: &Estimate) -> Total {
    let Work::Switch { pattern, .. } = collected.condition.work else { unreachable!("c2 is of switches") };
    let c2 = kept.net();
    Total {
        array_bytes: pattern.array_bytes,
        stride_bytes: pattern.stride_bytes,
        access: pattern.access,
        indirect_cost_ns: indirect(&c2, c1),
        total_cost_ns: c2,
        baseline_ns: kept.baseline_operation_ns(),
        switches_per_round_trip: kept.switches_per_round(),
    }
}

/// c2 - c1. The half-widths of two independent intervals combine as the root of the sum of their squares.
fn indirect(c2: &Estimate, c1: &Estimate) -> Indirect {
    let median = c2.median - c1.median;
    Indirect {
        median,
        ci_low: median - (c2.median - c2.ci_low).hypot(c1.ci_high - c1.median),
        ci_high: median + (c2.ci_high - c2.median).hypot(c1.median - c1.ci_low),
        undisturbed: c2.undisturbed - c1.undisturbed,
    }
}

fn noise(gathered: &Gathered, spin_ns: f64, counted: bool) -> Noise {
    let mut reasons = vec![0u32; Rejection::ALL.len()];
    let mut spins = Vec::new();
    // Weighted by time: one batch that lost a whole slice to a stranger is short in number and long in time.
    let (mut off_cpu_ns, mut switching_ns) = (0.0, 0.0);
    for (_, collected) in &gathered.conditions {
        for reason in collected.keep(spin_ns, counted).rejected() {
            reasons[Rejection::ALL.iter().position(|known| known == reason).unwrap_or(0)] += 1;
        }
        for batch in collected.launches.iter().flatten() {
            spins.push(batch.spin_ns);
            if let Some(share) = batch.off_cpu_share {
                let length_ns = batch.round_ns * f64::from(batch.rounds);
                off_cpu_ns += share * length_ns;
                switching_ns += length_ns;
            }
        }
    }
    Noise {
        batches: spins.len() as u32,
        rejected: reasons.iter().sum(),
        reasons: Rejection::ALL
            .iter()
            .zip(&reasons)
            .filter(|(_, batches)| **batches > 0)
            .map(|(reason, batches)| NoiseReason { reason: *reason, batches: *batches })
            .collect(),
        steal_share: None,
        foreign_share: (switching_ns > 0.0).then(|| (off_cpu_ns / switching_ns).max(0.0)),
        spin_cov: (spins.len() > 2).then(|| stats::coefficient_of_variation(&spins)),
        throttled_ns: None,
        kernel_threads: None,
    }
}

/// Every batch as a row of the samples table.
pub(crate) fn samples(gathered: &Gathered) -> Vec<Sample> {
    let spin_ns = usual_spin_ns(gathered);
    let mut rows = Vec::new();
    for (_, collected) in &gathered.conditions {
        let usual = collected.usual(spin_ns);
        for (launch, batches) in collected.launches.iter().enumerate() {
            for batch in batches {
                rows.push(Sample {
                    launch: launch as u32,
                    started_ns: batch.started_ns,
                    rounds: batch.rounds,
                    round_ns: batch.round_ns,
                    baseline_ns: batch.baseline_ns,
                    baseline_per_round: batch.baseline_per_round,
                    voluntary_per_round: batch.voluntary_per_round,
                    involuntary_per_round: batch.involuntary_per_round,
                    off_cpu_share: batch.off_cpu_share,
                    spin_ns: batch.spin_ns,
                    migrated: batch.migrated,
                    rejected: crate::noise::rejection(batch, usual).map(|reason| reason.name().to_owned()),
                    ..describe(&collected.condition)
                });
            }
        }
    }
    rows
}

fn describe(condition: &Condition) -> Sample {
    let messages;
    let (work, tasks, count, pattern) = match condition.work {
        Work::Switch { method, tasks, count, pattern } => {
            (method.name(), tasks.name(), count, Some(pattern).filter(|pattern| pattern.array_bytes > 0))
        }
        Work::Messages { carrier, channels, depth } => {
            messages = format!("{}-messages-{channels}x{depth}", carrier.name());
            (messages.as_str(), "thread", condition.cpus.len().max(1) as u32, None)
        }
        Work::Reference(Reference::Syscall) => ("syscall", "process", 1, None),
        Work::Reference(Reference::Fork) => ("fork", "process", 1, None),
        Work::Reference(Reference::ThreadCreate) => ("thread-create", "thread", 1, None),
    };
    Sample {
        work: work.to_owned(),
        tasks: tasks.to_owned(),
        count,
        placement: condition.placement.to_string(),
        class: condition.class.name().to_owned(),
        array_bytes: pattern.map_or(0, |pattern| pattern.array_bytes),
        stride_bytes: pattern.map(|pattern| pattern.stride_bytes),
        access: pattern.map(|pattern| pattern.access.name().to_owned()),
        ..Sample::default()
    }
}
