//! Profiles with invented but plausible figures, for tests and for looking at the page.
#![allow(dead_code, reason = "each user of this file takes what it needs")]

use swtch_profile::Profile;
use swtch_profile::model::{
    Clock, Direct, Ended, Estimate, Indirect, KernelThreads, Knee, Noise, NoiseReason, Provenance,
    References, Region, RegionKind, Ring, SCHEMA, Total, Unavailable,
};
use swtch_profile::vocabulary::{Access, Class, Flag, Method, Rejection, Tasks};
use swtch_topology::Host;
use swtch_topology::Placement;
use swtch_topology::host::{Cache, CacheKind, Cpu, Kernel, Limits, NumaNode, Virtualisation};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// What distinguishes one invented machine from another.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    /// c1 between two threads on one CPU by pipe, ns.
    pub(crate) switch_ns: f64,
    /// c1 between two CPUs, ns.
    pub(crate) wake_up_ns: f64,
    pub(crate) l1: u64,
    pub(crate) l2: u64,
    pub(crate) l3: u64,
    pub(crate) cpus: u32,
    /// Whether it permits the FIFO class.
    pub(crate) realtime: bool,
    pub(crate) virtualised: bool,
}

/// A virtual machine of two CPUs.
pub(crate) const VM: Machine = Machine {
    switch_ns: 1012.0,
    wake_up_ns: 28_400.0,
    l1: 48 * KIB,
    l2: MIB,
    l3: 32 * MIB,
    cpus: 2,
    realtime: false,
    virtualised: true,
};

/// A server without a hypervisor.
pub(crate) const SERVER: Machine = Machine {
    switch_ns: 684.0,
    wake_up_ns: 2_950.0,
    l1: 32 * KIB,
    l2: 2 * MIB,
    l3: 64 * MIB,
    cpus: 16,
    realtime: true,
    virtualised: false,
};

/// A figure with an interval of about a percent, and launches that differ a little.
pub(crate) fn estimate(ns: f64) -> Estimate {
    let size = ns.abs();
    // A cheap hash instead of a generator: the same figure always varies in the same way.
    let wobble = |i: u32| (f64::from(i) * 12.9898 + ns).sin();
    Estimate {
        median: ns,
        ci_low: ns - size * 0.008,
        ci_high: ns + size * 0.011,
        mean: ns + size * 0.03,
        min: ns - size * 0.18,
        undisturbed: ns - size * 0.13,
        undisturbed_quantile: 0.05,
        cov: 0.061,
        batches: 214,
        rejected: 9,
        launches: 6,
        launch_medians: (0..6).map(|i| ns + size * 0.012 * wobble(i)).collect(),
        batch_length: 2000,
        normality_p: Some(0.0004),
        lag1_autocorrelation: Some(0.21),
        ended: Ended::Precision,
        flags: Vec::new(),
    }
}

fn direct_row(method: Method, tasks: Tasks, placement: Placement, class: Class, ns: f64) -> Direct {
    let cpus = match placement {
        Placement::SameCpu => vec![1],
        Placement::Unpinned => vec![],
        _ => vec![0, 1],
    };
    let condvar = if method == Method::Condvar { 3.4 } else { 2.0 };
    Direct {
        method,
        tasks,
        placement,
        cpus,
        class,
        switch_cost_ns: estimate(ns),
        round_trip_ns: estimate(2.0 * ns + 1400.0),
        switches_per_round_trip: Some(condvar),
        involuntary_share: Some(0.001),
        expected_switches_per_round_trip: 2.0,
        baseline_ns: 640.0,
    }
}

fn direct(machine: Machine) -> Vec<Direct> {
    let methods = [
        (Method::Pipe, 1.0),
        (Method::Eventfd, 0.93),
        (Method::Futex, 0.81),
        (Method::Condvar, 1.22),
        (Method::Yield, 0.47),
    ];
    let classes: &[(Class, f64)] =
        if machine.realtime { &[(Class::Normal, 1.0), (Class::Fifo, 0.94)] } else { &[(Class::Normal, 1.0)] };
    let placements: &[(Placement, f64)] = if machine.realtime {
        &[
            (Placement::SameCpu, 1.0),
            (Placement::SmtSibling, 1.7),
            (Placement::SharedL3, 1.0),
            (Placement::Unpinned, 1.3),
        ]
    } else {
        &[(Placement::SameCpu, 1.0), (Placement::SharedL3, 1.0), (Placement::Unpinned, 1.3)]
    };
    let mut rows = Vec::new();
    for (placement, far) in placements {
        for (method, factor) in methods {
            let apart = *placement != Placement::SameCpu;
            if method == Method::Yield && apart {
                continue;
            }
            for tasks in Tasks::ALL {
                if method == Method::Condvar && tasks == Tasks::Process {
                    continue;
                }
                let base = match *placement {
                    Placement::SameCpu | Placement::SmtSibling => machine.switch_ns,
                    _ => machine.wake_up_ns,
                };
                let space = if tasks == Tasks::Process { 1.19 } else { 1.0 };
                for (class, urgency) in classes {
                    rows.push(direct_row(
                        method,
                        tasks,
                        *placement,
                        *class,
                        base * factor * far * space * urgency,
                    ));
                }
            }
        }
    }
    rows
}

/// The indirect cost that a machine of these caches would show: nothing while both arrays fit, then a refill by line.
fn indirect_ns(machine: Machine, bytes: u64, access: f64) -> f64 {
    let refill = |cache: u64, line_ns: f64| {
        let over = (2.0 * bytes as f64 - cache as f64).clamp(0.0, cache as f64);
        over.min(bytes as f64) / 64.0 * line_ns
    };
    (refill(machine.l1, 1.1) + refill(machine.l2, 3.8)) * access
}

fn total_row(machine: Machine, array_bytes: u64, stride_bytes: u64, access: Access) -> Total {
    let by_access = match access {
        Access::Read => 1.0,
        Access::Write => 1.45,
        Access::ReadModifyWrite => 1.7,
    };
    let by_stride = (stride_bytes as f64 / 8.0).powf(0.33);
    let wobble = 3.0 * ((array_bytes as f64).ln() * 7.0 + by_access * 5.0).sin();
    let indirect = indirect_ns(machine, array_bytes, by_access) * by_stride + wobble;
    let total = estimate(machine.switch_ns + indirect);
    let width = 4.0 + indirect.abs() * 0.03;
    Total {
        array_bytes,
        stride_bytes,
        access,
        indirect_cost_ns: Indirect {
            median: indirect,
            ci_low: indirect - width,
            ci_high: indirect + width,
            undisturbed: indirect * 0.85,
        },
        total_cost_ns: total,
        baseline_ns: 640.0 + array_bytes as f64 / 16.0,
        switches_per_round_trip: Some(2.0),
    }
}

fn totals(machine: Machine) -> Vec<Total> {
    let mut rows = Vec::new();
    for access in Access::ALL {
        for exponent in 0..15 {
            rows.push(total_row(machine, KIB << exponent, 8, access));
        }
    }
    for array in [64 * KIB, 512 * KIB, 4 * MIB] {
        for stride in [64, 128, 512, 4096] {
            rows.push(total_row(machine, array, stride, Access::Read));
        }
    }
    rows
}

fn rings(machine: Machine) -> Vec<Ring> {
    let mut rows = Vec::new();
    for array_bytes in [0, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB] {
        for processes in [2, 4, 8, 16, 32] {
            let together = array_bytes * u64::from(processes);
            let refill = if together > machine.l2 { array_bytes as f64 / 64.0 * 1.4 } else { 0.0 };
            let queue = 1.0 + 0.22 * f64::from(processes).log2();
            rows.push(Ring {
                processes,
                array_bytes,
                switch_cost_ns: estimate(machine.switch_ns * queue + refill),
                baseline_ns: 410.0,
                switches_per_hop: Some(1.0),
            });
        }
    }
    rows
}

fn regions(machine: Machine) -> (Vec<Region>, Vec<Knee>) {
    let (rise, plateau) = (machine.l2 / 2, machine.l2);
    let regions = vec![
        Region { from_bytes: KIB, to_bytes: rise, kind: RegionKind::Fits },
        Region { from_bytes: plateau, to_bytes: 2 * plateau, kind: RegionKind::Interferes },
        Region { from_bytes: 4 * plateau, to_bytes: 16 * MIB, kind: RegionKind::Exceeds },
    ];
    let knee = |array_bytes, kind: &str, predicted_bytes, agrees| Knee {
        array_bytes,
        kind: kind.to_owned(),
        cache_level: Some(2),
        cache_bytes: Some(machine.l2),
        predicted_bytes: Some(predicted_bytes),
        agrees,
    };
    (regions, vec![knee(rise, "rise", rise, true), knee(4 * plateau, "plateau", plateau, false)])
}

fn host(machine: Machine) -> Host {
    let all: Vec<u32> = (0..machine.cpus).collect();
    let cache = |level, kind, bytes, shared_by: &[u32]| Cache {
        level,
        kind,
        bytes,
        line_bytes: Some(64),
        ways: Some(12),
        shared_by: shared_by.to_vec(),
    };
    let mut caches = Vec::new();
    for cpu in &all {
        caches.push(cache(1, CacheKind::Data, machine.l1, &[*cpu]));
        caches.push(cache(1, CacheKind::Instruction, 32 * KIB, &[*cpu]));
        caches.push(cache(2, CacheKind::Unified, machine.l2, &[*cpu]));
    }
    caches.push(cache(3, CacheKind::Unified, machine.l3, &all));
    Host {
        architecture: "x86_64".to_owned(),
        cpu_model: Some(
            if machine.virtualised { "Example Cloud CPU @ 2.60GHz" } else { "Example Server 9016" }
                .to_owned(),
        ),
        cpus: all
            .iter()
            .map(|id| Cpu { id: *id, online: true, smt_siblings: vec![*id], ..Cpu::default() })
            .collect(),
        caches,
        numa_nodes: vec![NumaNode { id: 0, cpus: all.clone(), memory_bytes: Some(8 << 30) }],
        memory_bytes: Some(8 << 30),
        virtualisation: Virtualisation {
            hypervisor: machine.virtualised.then(|| "kvm".to_owned()),
            ..Virtualisation::default()
        },
        kernel: Kernel {
            release: "6.18.2".to_owned(),
            version: "#1 SMP PREEMPT_DYNAMIC".to_owned(),
            preemption: Some("voluntary".to_owned()),
            page_table_isolation: Some(false),
            btf: true,
            sched_ext: Some(true),
            ..Kernel::default()
        },
        limits: Limits { allowed_cpus: all, sched_rt_runtime_us: Some(950_000), ..Limits::default() },
        ..Host::default()
    }
}

/// A profile with nothing but its circumstances.
pub(crate) fn bare(machine: Machine) -> Profile {
    Profile {
        schema: SCHEMA.to_owned(),
        provenance: Provenance {
            source: "invented".to_owned(),
            swtch_version: "0.1.0".to_owned(),
            started_unix_s: 1_763_697_720,
            elapsed_s: 47.3,
            preset: "default".to_owned(),
            precision: 0.01,
            ended: Ended::Complete,
            launches: 6,
            order_seed: 20_251_121,
        },
        host: host(machine),
        clock: Clock {
            source: "tsc".to_owned(),
            frequency_hz: Some(2_599_998_412.0),
            calibration_ppm: Some(0.42),
            resolution_ns: 0.77,
            overhead_ns: 9.6,
            fallback_why: None,
        },
        direct: Vec::new(),
        total: Vec::new(),
        ring: Vec::new(),
        regions: Vec::new(),
        knees: Vec::new(),
        messages: Vec::new(),
        references: References::default(),
        noise: Noise::default(),
        unavailable: Vec::new(),
        samples: None,
    }
}

/// A profile with everything.
pub(crate) fn full(machine: Machine) -> Profile {
    let (regions, knees) = regions(machine);
    let mut profile = Profile {
        direct: direct(machine),
        total: totals(machine),
        ring: rings(machine),
        regions,
        knees,
        references: References {
            syscall_ns: Some(estimate(machine.switch_ns * 0.09)),
            fork_ns: Some(estimate(machine.switch_ns * 82.0)),
            thread_create_ns: Some(estimate(machine.switch_ns * 14.5)),
        },
        noise: Noise {
            batches: 23_540,
            rejected: 412,
            reasons: vec![
                NoiseReason { reason: Rejection::ForeignCpuTime, batches: 231 },
                NoiseReason { reason: Rejection::SlowClock, batches: 181 },
            ],
            steal_share: machine.virtualised.then_some(0.0021),
            foreign_share: Some(0.0008),
            spin_cov: Some(0.021),
            throttled_ns: None,
            kernel_threads: Some(KernelThreads { runs_per_second: 24.4, mean_run_ns: 36_000.0 }),
        },
        ..bare(machine)
    };
    if machine.realtime {
        profile.direct[0].switch_cost_ns.flags.push(Flag::NoisyHost);
    } else {
        profile.unavailable.push(unavailable(
            "direct, class fifo",
            "SCHED_FIFO is not permitted to this user; CAP_SYS_NICE or a limit of RLIMIT_RTPRIO above 0 would allow it",
        ));
        profile
            .unavailable
            .push(unavailable("direct, placement smt-sibling", "no core of this machine has a second CPU"));
    }
    profile
}

/// Something that could not be measured.
pub(crate) fn unavailable(what: &str, why: &str) -> Unavailable {
    Unavailable::new(what.to_owned(), why)
}
