//! The machine that one's own is.

use super::{CoreType, Machine, MachineCpu, REFERENCE_SPEED};
use crate::assumption::Assumption;
use crate::error::SimError;
use std::collections::BTreeMap;
use swtch_topology::Host;
use swtch_topology::host::{self, CacheKind, CoreKind};
use swtch_units::CpuId;

/// Cores whose figures differ by less than this are one kind, in per cent: makers let single cores of a kind clock a little higher.
const ALIKE_PERCENT: u64 = 95;
/// Speed of each of two busy threads of a core. Together they do a quarter more than one alone. SMT gives that on server mixes (Marr et
/// al., "Hyper-Threading Technology Architecture and Microarchitecture", Intel Technology Journal 6(1), 2002: 16 to 28 %).
const SHARED_CORE_SPEED: u32 = 640;

/// The machine of the host's CPUs that are online.
pub(super) fn machine(host: &Host) -> Result<Machine, SimError> {
    let online: Vec<&host::Cpu> = host.cpus.iter().filter(|cpu| cpu.online).collect();
    let mut assumed = Vec::new();
    let (types, kinds) = core_types(&online, &mut assumed);
    let mut numbers = Numbers::default();
    let cpus: Vec<MachineCpu> = online
        .iter()
        .zip(kinds)
        .map(|(cpu, core_type)| {
            let domains = Domains::of(host, cpu);
            MachineCpu {
                id: CpuId::new(cpu.id),
                core_type,
                core: numbers.of(domains.core),
                l2: numbers.of(domains.l2),
                l3: numbers.of(domains.l3),
                node: domains.node,
            }
        })
        .collect();
    if host.caches.is_empty() && cpus.len() > 1 {
        let why = "the machine does not describe its caches";
        assumed.push(Assumption::new("caches", "L2 per core, L3 per package", why));
    }
    let problem = "no CPU is known to be online; expected /sys/devices/system/cpu to list some";
    let no_cpu = || SimError::input("machine \"host\"", problem);
    let mut machine = Machine::new("host", types, cpus, Vec::new()).ok_or_else(no_cpu)?;
    if machine.has_smt() {
        machine.smt_speed = vec![REFERENCE_SPEED, SHARED_CORE_SPEED];
        let why = "no machine reports how its threads share a core; assumed: a quarter more together than one alone";
        assumed.push(Assumption::new("smt_speed", "1024, 640", why));
    }
    machine.assumed = assumed;
    Ok(machine)
}

/// The kinds of core, the fastest first, and the kind of each CPU. By capacity, else by kind, else by highest frequency.
fn core_types(cpus: &[&host::Cpu], assumed: &mut Vec<Assumption>) -> (Vec<CoreType>, Vec<u32>) {
    let of_all = |figure: &dyn Fn(&host::Cpu) -> Option<u64>| -> Option<Vec<u64>> {
        cpus.iter().map(|cpu| figure(cpu).filter(|value| *value > 0)).collect()
    };
    let frequency_khz = of_all(&|cpu| cpu.max_frequency_khz);
    let mixed = cpus.iter().any(|cpu| cpu.kind != cpus[0].kind);
    let mut by_frequency = || {
        let why = "the kernel gives no capacities; speeds by highest frequency, as if all did the same work per clock";
        assumed.push(Assumption::new("core speeds", "ratio of frequencies", why));
    };
    let figures = match (of_all(&|cpu| cpu.capacity.map(u64::from)), frequency_khz) {
        (Some(capacities), _) => capacities,
        (None, Some(frequencies)) if mixed => {
            by_frequency();
            let of_kind = |kind| {
                let own = cpus.iter().zip(&frequencies).filter(|(cpu, _)| cpu.kind == kind);
                own.map(|(_, khz)| *khz).max().expect("a CPU of this kind asks")
            };
            cpus.iter().map(|cpu| of_kind(cpu.kind)).collect()
        }
        (None, Some(frequencies)) => {
            if spread(&frequencies) {
                by_frequency();
            }
            frequencies
        }
        (None, None) if mixed => {
            let why = "neither capacities nor frequencies are known; half, as the capacities of many hybrid CPUs say";
            assumed.push(Assumption::new("speed of efficiency cores", "512", why));
            cpus.iter().map(|cpu| if cpu.kind == CoreKind::Efficiency { 512 } else { 1024 }).collect()
        }
        (None, None) => vec![1; cpus.len()],
    };
    grouped(&figures)
}

fn spread(figures: &[u64]) -> bool {
    let (least, most) = (figures.iter().min(), figures.iter().max());
    least.zip(most).is_some_and(|(least, most)| least * 100 < most * ALIKE_PERCENT)
}

/// Groups figures that are nearly alike; speeds are relative to the highest.
fn grouped(figures: &[u64]) -> (Vec<CoreType>, Vec<u32>) {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let mut firsts: Vec<u64> = Vec::new();
    for figure in sorted {
        if firsts.last().is_none_or(|first| figure * 100 < first * ALIKE_PERCENT) {
            firsts.push(figure);
        }
    }
    let fastest = firsts.first().copied().unwrap_or(1);
    let names: &[&str] = match firsts.len() {
        0 | 1 => &["core"],
        2 => &["fast", "slow"],
        _ => &["fast", "middle", "slow"],
    };
    let kind = |(place, figure): (usize, &u64)| CoreType {
        name: names.get(place).map_or_else(|| format!("kind-{place}"), |name| (*name).to_owned()),
        speed: ((figure * u64::from(REFERENCE_SPEED) + fastest / 2) / fastest).max(1) as u32,
    };
    // The least first figure that is not below this one.
    let group = |figure: &u64| firsts.partition_point(|first| first >= figure) as u32 - 1;
    let of_each = figures.iter().map(group).collect();
    (firsts.iter().enumerate().map(kind).collect(), of_each)
}

/// What a CPU shares, as keys that CPUs have in common.
struct Domains {
    core: DomainKey,
    l2: DomainKey,
    l3: DomainKey,
    node: u32,
}

/// Which domain, its kind first.
type DomainKey = (&'static str, u32, u32);

impl Domains {
    fn of(host: &Host, cpu: &host::Cpu) -> Self {
        let holds =
            |cache: &host::Cache| cache.kind != CacheKind::Instruction && cache.shared_by.contains(&cpu.id);
        // A cache is known by the first CPU that shares it.
        let cache = |level: u32| {
            let found = host.caches.iter().find(|cache| cache.level == level && holds(cache))?;
            Some(("cache", level, *found.shared_by.iter().min()?))
        };
        let sibling = cpu.smt_siblings.iter().copied().min().unwrap_or(cpu.id);
        let core = ("core", 0, sibling);
        let l2 = cache(2).unwrap_or(core);
        let l3 = cache(3).unwrap_or(match (host.caches.is_empty(), cpu.package) {
            (true, package) => ("package", 0, package.unwrap_or(0)),
            // Without a level 3 the last level is level 2.
            (false, _) => ("cache", 3, l2.2),
        });
        Self { core, l2, l3, node: cpu.numa_node.unwrap_or(0) }
    }
}

/// Numbers for keys, in the order in which they come.
#[derive(Default)]
struct Numbers {
    known: BTreeMap<DomainKey, u32>,
}

impl Numbers {
    fn of(&mut self, key: DomainKey) -> u32 {
        let next = self.known.len() as u32;
        *self.known.entry(key).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Distance;
    use std::path::Path;

    fn of(folder: &str) -> Machine {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines").join(folder);
        machine(&Host::read(&root).expect("a fixture")).expect("it has CPUs")
    }

    /// Name and number of CPUs of each kind.
    fn kinds(machine: &Machine) -> Vec<(&str, usize)> {
        let count = |kind| machine.cpus.iter().filter(|cpu| cpu.core_type == kind).count();
        machine.types.iter().zip(0..).map(|(kind, place)| (kind.name.as_str(), count(place))).collect()
    }

    #[test]
    fn a_hybrid_laptop_has_two_kinds_and_shared_caches() {
        let laptop = of("laptop-hybrid");
        assert_eq!(kinds(&laptop), [("fast", 4), ("slow", 4)]);
        assert!(laptop.types[1].speed < laptop.types[0].speed);
        let slow: Vec<_> = (0..8).filter(|place| laptop.cpus[*place].core_type == 1).collect();
        assert_eq!(laptop.distance(slow[0], slow[3]), Distance::L2);
        let fast = (0..8).find(|place| laptop.cpus[*place].core_type == 0).unwrap();
        assert_eq!(laptop.core(fast).len(), 2);
        assert_eq!(laptop.smt_speed, [1024, 640]);
        assert!(laptop.assumed.iter().any(|assumed| assumed.what == "smt_speed"));
    }

    #[test]
    fn two_sockets_lie_far_apart() {
        let server = of("server-2-sockets");
        assert_eq!(server.cpus.len(), 8);
        assert_eq!(server.types.len(), 1);
        assert_eq!((server.node(0), server.distance(0, 7)), (0..4, Distance::Far));
        assert_eq!(server.distance(0, 1), Distance::Core);
        assert_eq!(server.distance(0, 2), Distance::L3);
    }

    #[test]
    fn capacities_come_before_all_else_and_an_offline_cpu_is_left_out() {
        let board = of("board-big-little");
        let host = Host::read(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines/board-big-little"),
        )
        .unwrap();
        let online = host.cpus.iter().filter(|cpu| cpu.online).count();
        assert!(online < host.cpus.len());
        assert_eq!(board.cpus.len(), online);
        let least = host.cpus.iter().filter_map(|cpu| cpu.capacity).min().unwrap();
        assert_eq!(board.types.iter().map(|kind| kind.speed).collect::<Vec<_>>(), [1024, least]);
        assert!(board.assumed.is_empty(), "{:?}", board.assumed);
    }

    #[test]
    fn a_machine_that_says_nothing_about_its_caches_has_that_said() {
        let machine = of("sandbox-gvisor");
        assert_eq!(machine.types.len(), 1);
        let said = machine.assumed.iter().any(|assumed| assumed.what == "caches");
        assert_eq!(said, machine.cpus.len() > 1);
    }

    #[test]
    fn figures_that_are_nearly_alike_are_one_kind() {
        let (types, kinds) = grouped(&[5_000, 4_900, 3_800, 5_000, 3_700, 1_000]);
        assert_eq!(kinds, [0, 0, 1, 0, 1, 2]);
        assert_eq!(types.iter().map(|kind| kind.speed).collect::<Vec<_>>(), [1024, 778, 205]);
        assert_eq!(types[1].name, "middle");
    }
}
