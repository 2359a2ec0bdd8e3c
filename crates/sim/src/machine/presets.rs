//! Machines by name.

use super::{CoreType, Machine, MachineCpu, REFERENCE_SPEED, host};
use crate::error::SimError;
use swtch_topology::Host;
use swtch_units::CpuId;

/// A machine by name.
#[derive(Clone, Copy, Debug)]
pub struct MachineRow {
    /// Its name; one that ends in `:N` stands for names with a number of CPUs there.
    pub name: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    make: fn(&str, &Host) -> Result<Machine, SimError>,
}

/// All machines that have a name.
pub const MACHINES: [MachineRow; 6] = [
    row("host", "this machine: its CPUs, kinds of core, caches and NUMA nodes", |_, host| {
        host::machine(host)
    }),
    row("2f4s", "2 fast cores of 2.8 GHz and 4 slow ones of 0.8 GHz", |_, _| Ok(two_fast_four_slow())),
    row("odroid-xu3", "4 Cortex-A15 of 2.0 GHz and 4 Cortex-A7 of 1.4 GHz", |_, _| Ok(odroid_xu3())),
    row("xeon-phi-31s1p", "57 cores of 4 threads, 1.1 GHz", |_, _| Ok(xeon_phi_31s1p())),
    row(
        "uniform:N",
        "N identical cores, 16 to a level-3 cache and 128 to a NUMA node; just N means the same",
        |name, _| alike(name),
    ),
    row("emulated:N", "N CPUs that take turns on one CPU, as in swtch vm --deterministic", |name, _| {
        emulated(name)
    }),
];

const fn row(
    name: &'static str,
    meaning: &'static str,
    make: fn(&str, &Host) -> Result<Machine, SimError>,
) -> MachineRow {
    MachineRow { name, meaning, make }
}

impl MachineRow {
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.name.strip_suffix('N').is_some_and(|prefix| name.starts_with(prefix))
    }
}

/// The most CPUs of `uniform:N`.
pub const MOST_CPUS: u32 = 10_000;

/// The machine of that name; `host` is what `host` makes of it.
///
/// ```
/// use swtch_sim::machine::named;
///
/// let machine = named("4096", &swtch_topology::Host::default())?;
/// assert_eq!((machine.cpus.len(), machine.l3(20), machine.node(20)), (4096, 16..32, 0..128));
/// # Ok::<(), swtch_sim::SimError>(())
/// ```
///
/// # Errors
/// When there is no such machine, or `host` has no CPU online.
pub fn named(name: &str, host: &Host) -> Result<Machine, SimError> {
    let row = MACHINES.iter().find(|row| row.is_named(name));
    row.map_or_else(|| alike(name), |row| (row.make)(name, host))
}

/// CPUs of one emulator's thread under a clock that counts everybody's instructions: while n are busy, each gets an nth of the time.
/// How long a turn takes is left out.
fn emulated(name: &str) -> Result<Machine, SimError> {
    let mut machine = alike(name.strip_prefix("emulated:").unwrap_or(name))?;
    let cpus = machine.cpus.len() as u32;
    machine.smt_speed = (1..=cpus).map(|busy| (REFERENCE_SPEED / busy).max(1)).collect();
    machine.takes_turns = true;
    name.clone_into(&mut machine.name);
    Ok(machine)
}

/// 2 fast cores (2.8 GHz) and 4 slow ones (0.8 GHz). It is the machine of Kim and Huh (ICS 2016; IEEE TC 67(8), 2018), cores of one chip
/// of which four were clocked down. So speeds are as clocks are; programs that wait for memory are slowed less and say so by speeds of
/// their own. Here every core has its level 2 cache and all share a level 3.
fn two_fast_four_slow() -> Machine {
    // 0.8 / 2.8 of 1024 is 292.57.
    let types = vec![kind("fast", REFERENCE_SPEED), kind("slow", 293)];
    let cpus = (0..6).map(|id| cpu(id, u32::from(id >= 2), id, id, 0)).collect();
    made("2f4s", types, cpus, Vec::new())
}

/// Exynos 5422: a cluster of 4 Cortex-A7 (CPUs 0 to 3) and one of 4 Cortex-A15 (CPUs 4 to 7). Each is around a level 2 cache; no
/// level 3. Work per clock is 539 to 1024 (`capacity-dmips-mhz` in Linux's exynos5422-cpus.dtsi, from Dhrystone). With 1.4 and 2.0 GHz
/// the ratio of speeds is 539 * 1.4 / (1024 * 2.0), and 377 to 1024.
fn odroid_xu3() -> Machine {
    let types = vec![kind("Cortex-A15", REFERENCE_SPEED), kind("Cortex-A7", 377)];
    // Each cluster is a domain of its own at level 3 too, as the kernel's domain of the last level of cache is.
    let cluster = |id: u32| u32::from(id < 4);
    let cpus = (0..8).map(|id| cpu(id, cluster(id), id, cluster(id), cluster(id))).collect();
    made("odroid-xu3", types, cpus, Vec::new())
}

/// Xeon Phi 31S1P (Knights Corner): 57 in-order cores of 1.1 GHz around a ring, in one node. Each has 4 threads and 512 KB of level 2
/// cache. A core never issues from the same thread in two cycles running. So a thread alone gets half a core, and two together all of
/// it (Intel, "Xeon Phi Coprocessor System Software Developers Guide"). No level 3 cache: the domain of the last level is the core.
fn xeon_phi_31s1p() -> Machine {
    let cpus = (0..228).map(|id| cpu(id, 0, id / 4, id / 4, id / 4)).collect();
    made("xeon-phi-31s1p", vec![kind("core", REFERENCE_SPEED)], cpus, vec![512, 512, 341, 256])
}

/// `uniform:N` or `N`.
fn alike(name: &str) -> Result<Machine, SimError> {
    let Ok(count) = name.strip_prefix("uniform:").unwrap_or(name).parse::<u32>() else {
        let known = format!("{}, and a number of CPUs such as 64", MACHINES.map(|row| row.name).join(", "));
        return Err(SimError::unknown("machine", name, known));
    };
    if !(1..=MOST_CPUS).contains(&count) {
        let problem = format!("{count} CPUs; expected 1 to {MOST_CPUS}");
        return Err(SimError::input(format!("machine \"{name}\""), problem));
    }
    let cpus = (0..count).map(|id| MachineCpu { node: id / 128, ..cpu(id, 0, id, id, id / 16) }).collect();
    Ok(made(&format!("uniform:{count}"), vec![kind("core", REFERENCE_SPEED)], cpus, Vec::new()))
}

fn kind(name: &str, speed: u32) -> CoreType {
    CoreType { name: name.to_owned(), speed }
}

fn cpu(id: u32, core_type: u32, core: u32, l2: u32, l3: u32) -> MachineCpu {
    MachineCpu { id: CpuId::new(id), core_type, core, l2, l3, node: 0 }
}

fn made(name: &str, types: Vec<CoreType>, cpus: Vec<MachineCpu>, smt_speed: Vec<u32>) -> Machine {
    Machine::new(name, types, cpus, smt_speed)
        .expect("the machines of this file have CPUs of kinds they list")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Distance;

    fn machine(name: &str) -> Machine {
        named(name, &Host::default()).expect("a preset")
    }

    #[test]
    fn emulated_cpus_share_one_processor_and_their_kernel_does_not_know() {
        let machine = named("emulated:4", &Host::default()).unwrap();
        assert_eq!((machine.sharing(2), machine.core(2), machine.has_smt()), (0..4, 2..3, false));
        assert_eq!(machine.smt_speed, [1024, 512, 341, 256]);
        for wrong in ["emulated:", "emulated:0", "emulated:2f4s"] {
            assert!(named(wrong, &Host::default()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_presets_have_the_cpus_and_speeds_of_their_sources() {
        let two = machine("2f4s");
        assert_eq!(two.types.iter().map(|kind| kind.speed).collect::<Vec<_>>(), [1024, 293]);
        assert_eq!(two.cpus.iter().filter(|cpu| cpu.core_type == 0).count(), 2);
        assert_eq!((two.cpus.len(), two.distance(0, 5), two.has_smt()), (6, Distance::L3, false));

        let board = machine("odroid-xu3");
        let fast: Vec<_> = board.cpus.iter().filter(|cpu| cpu.core_type == 0).map(|cpu| cpu.id).collect();
        assert_eq!(fast, [4, 5, 6, 7].map(CpuId::new));
        let place = |id| board.place_of(CpuId::new(id)).unwrap();
        assert_eq!(board.distance(place(4), place(7)), Distance::L2);
        assert_eq!(board.distance(place(0), place(7)), Distance::Node);
        assert_eq!(board.types[1].speed, (539.0_f64 * 1.4 / 2.0).round() as u32);

        let phi = machine("xeon-phi-31s1p");
        assert_eq!((phi.cpus.len(), phi.core(9), phi.node(9)), (228, 8..12, 0..228));
        assert_eq!(phi.distance(3, 4), Distance::Node);
    }

    #[test]
    fn alike_cpus_share_by_sixteen_and_by_128() {
        let large = machine("uniform:10000");
        assert_eq!(large.cpus.len(), 10_000);
        assert_eq!((large.l3(9_999), large.node(9_999)), (9_984..10_000, 9_984..10_000));
        assert_eq!(large.distance(127, 128), Distance::Far);
        assert_eq!(machine("6").name, "uniform:6");
    }

    #[test]
    fn an_unknown_machine_gets_the_names_there_are() {
        let problem = |name| named(name, &Host::default()).unwrap_err().to_string();
        assert!(problem("cray").contains("no machine \"cray\"; there are host, 2f4s, odroid-xu3"));
        assert_eq!(problem("0"), "machine \"0\": 0 CPUs; expected 1 to 10000");
        assert!(problem("uniform:10001").contains("expected 1 to 10000"));
        assert!(problem("host").contains("no CPU"));
    }
}
