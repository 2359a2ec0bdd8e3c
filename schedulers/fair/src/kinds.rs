//! Which CPUs are of which kind.

use swtch_topology::host::{CoreKind, Cpu};
use swtch_units::{CpuId, CpuList};

/// The most kinds of cores that there can be (`KINDS` of fair.bpf.c).
pub const KINDS: usize = 4;

/// One of something for every kind of core, from the fastest to the slowest; what is beyond the machine's kinds is 0.
pub type ByKind<T> = [T; KINDS];

/// A core below nine tenths of the fastest of a kind is of another kind. Favoured cores of one kind differ by less (Turbo Boost Max: some 5
/// %).
const SLOWER_KIND: (u64, u64) = (9, 10);

/// Why the kinds of CPUs are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KindsError {
    /// The machine's CPUs are alike, or it does not say.
    #[error(
        "the CPUs here are all of one kind, as far as the machine says; name the fast ones with --fast 0-1 (and, to try it, slow the others down with --throttle-slow 2)"
    )]
    AllAlike,
    /// The kernel says nothing of a CPU's capacity.
    #[error(
        "--kinds kernel: /sys/devices/system/cpu/cpu{cpu}/cpu_capacity is not there; the kernel has it where the firmware describes capacities, as on Arm and RISC-V; name the kinds with --kinds 0/1-2/3-5"
    )]
    NoCapacity {
        /// Which.
        cpu: u32,
    },
    /// The kernel says that all CPUs have the same capacity, or nearly.
    #[error(
        "--kinds kernel: the capacities of the CPUs here (/sys/devices/system/cpu/cpu*/cpu_capacity) are {least} to {most}, which is one kind; name the kinds with --kinds 0/1-2/3-5"
    )]
    EqualCapacities {
        /// The least.
        least: u32,
        /// The most.
        most: u32,
    },
    /// Capacities make more kinds than are told apart.
    #[error(
        "--kinds kernel: capacities make {found} kinds of CPUs, and at most {KINDS} are told apart; name them with --kinds 0/1-2/3-5"
    )]
    TooManyCapacities {
        /// How many there are.
        found: usize,
    },
    /// A CPU that was named is not there.
    #[error("there is no CPU {cpu} here; there are {present}")]
    NoSuchCpu {
        /// As named.
        cpu: u32,
        /// Those that are there.
        present: CpuList,
    },
    /// All were named.
    #[error("every CPU is named fast; at least one must be slow")]
    NoneSlow,
    /// A part of the list of kinds is not a list of CPUs.
    #[error(
        "--kinds {text}: '{part}' names no CPUs; write it as 0/1-2/3-5, from the fastest kind to the slowest"
    )]
    Malformed {
        /// All of it.
        text: String,
        /// The part.
        part: String,
    },
    /// Too few kinds, or too many.
    #[error(
        "--kinds {text}: {found} kinds, where 2 to {KINDS} can be told apart; write it as 0/1-2/3-5, from the fastest to the slowest"
    )]
    HowMany {
        /// As given.
        text: String,
        /// How many there are.
        found: usize,
    },
    /// A CPU was named twice.
    #[error("--kinds {text}: CPU {cpu} is named twice; every CPU is of one kind")]
    Twice {
        /// As given.
        text: String,
        /// Which.
        cpu: u32,
    },
    /// A CPU was not named.
    #[error("--kinds {text}: CPU {cpu} is missing; every CPU is of one kind")]
    Missing {
        /// As given.
        text: String,
        /// Which.
        cpu: u32,
    },
}

/// The CPUs of every kind, from the fastest to the slowest; two to four kinds, none without a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds(Vec<CpuList>);

impl Kinds {
    /// What the kernel's facts set apart: three or four kinds by capacity (`cpu_capacity`), else two, by capacity, frequency, or the kinds of performance
    /// units.
    ///
    /// # Errors
    /// When they are all alike.
    pub fn of(cpus: &[Cpu]) -> Result<Self, KindsError> {
        if cpus.iter().all(|cpu| !cpu.online || cpu.capacity.is_some()) {
            let kinds = by_capacity(cpus);
            if (3..=KINDS).contains(&kinds.len()) {
                return Ok(Self(kinds));
            }
        }
        if !cpus.iter().any(|cpu| cpu.kind == CoreKind::Efficiency) {
            return Err(KindsError::AllAlike);
        }
        let (fast, slow) = split(cpus, |cpu| cpu.kind == CoreKind::Performance);
        if fast.cpus().is_empty() { Err(KindsError::AllAlike) } else { Ok(Self(vec![fast, slow])) }
    }

    /// What the kernel says of capacities alone (`/sys/devices/system/cpu/cpu*/cpu_capacity`): two to four kinds, each below nine tenths of the one
    /// before.
    ///
    /// # Errors
    /// When a CPU has no such file, or capacities make one kind or more than four.
    pub fn of_kernel(cpus: &[Cpu]) -> Result<Self, KindsError> {
        if let Some(cpu) = cpus.iter().find(|cpu| cpu.online && cpu.capacity.is_none()) {
            return Err(KindsError::NoCapacity { cpu: cpu.id });
        }
        let known = || cpus.iter().filter_map(|cpu| cpu.capacity);
        let kinds = by_capacity(cpus);
        match kinds.len() {
            0 | 1 => {
                let (least, most) = (known().min().unwrap_or(0), known().max().unwrap_or(0));
                Err(KindsError::EqualCapacities { least, most })
            }
            found if found > KINDS => Err(KindsError::TooManyCapacities { found }),
            _ => Ok(Self(kinds)),
        }
    }

    /// Two kinds, the fast CPUs named.
    ///
    /// # Errors
    /// When there is no such CPU, or no fast or no slow one.
    pub fn with_fast(cpus: &[Cpu], fast: &CpuList) -> Result<Self, KindsError> {
        all_present(cpus, fast)?;
        if fast.cpus().is_empty() {
            return Err(KindsError::AllAlike);
        }
        let (fast, slow) = split(cpus, |cpu| fast.numbers().contains(&cpu.id));
        if slow.cpus().is_empty() { Err(KindsError::NoneSlow) } else { Ok(Self(vec![fast, slow])) }
    }

    /// Kinds by name: lists of CPUs with a `/` between, from the fastest kind to the slowest, such as `0/1-2/3-5`.
    ///
    /// # Errors
    /// When they are not two to four, or a CPU is not in exactly one.
    pub fn named(cpus: &[Cpu], text: &str) -> Result<Self, KindsError> {
        let own = || text.to_owned();
        let kinds = text.split('/').map(|part| {
            let list = part.parse::<CpuList>().ok().filter(|list| !list.cpus().is_empty());
            list.ok_or_else(|| KindsError::Malformed { text: own(), part: part.to_owned() })
        });
        let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
        if !(2..=KINDS).contains(&kinds.len()) {
            return Err(KindsError::HowMany { text: own(), found: kinds.len() });
        }
        let mut named: Vec<u32> = kinds.iter().flat_map(CpuList::numbers).collect();
        named.sort_unstable();
        if let Some(pair) = named.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(KindsError::Twice { text: own(), cpu: pair[0] });
        }
        kinds.iter().try_for_each(|kind| all_present(cpus, kind))?;
        match cpus.iter().find(|cpu| !named.contains(&cpu.id)) {
            Some(cpu) => Err(KindsError::Missing { text: own(), cpu: cpu.id }),
            None => Ok(Self(kinds)),
        }
    }

    /// The CPUs of every kind.
    pub fn cpus(&self) -> &[CpuList] {
        &self.0
    }

    /// How many CPUs there are of every kind.
    pub fn counts(&self) -> Vec<u32> {
        self.0.iter().map(|kind| kind.cpus().len() as u32).collect()
    }
}

fn list<'a>(cpus: impl IntoIterator<Item = &'a Cpu>) -> CpuList {
    cpus.into_iter().map(|cpu| CpuId::new(cpu.id)).collect()
}

fn split(cpus: &[Cpu], is_fast: impl Fn(&Cpu) -> bool) -> (CpuList, CpuList) {
    let (fast, slow): (Vec<&Cpu>, Vec<&Cpu>) = cpus.iter().partition(|cpu| is_fast(cpu));
    (list(fast), list(slow))
}

fn all_present(cpus: &[Cpu], named: &CpuList) -> Result<(), KindsError> {
    match named.numbers().into_iter().find(|named| !cpus.iter().any(|cpu| cpu.id == *named)) {
        Some(cpu) => Err(KindsError::NoSuchCpu { cpu, present: list(cpus) }),
        None => Ok(()),
    }
}

/// CPUs of clearly different capacity, from the most. Of what is switched off nothing is known: it counts as slow.
fn by_capacity(cpus: &[Cpu]) -> Vec<CpuList> {
    let mut ordered: Vec<&Cpu> = cpus.iter().collect();
    ordered.sort_by_key(|cpu| std::cmp::Reverse(cpu.capacity.unwrap_or(0)));
    let capacity = |cpu: &Cpu| u64::from(cpu.capacity.unwrap_or(0));
    let (part, whole) = SLOWER_KIND;
    let mut kinds: Vec<Vec<&Cpu>> = Vec::new();
    for cpu in ordered {
        match kinds.last_mut() {
            Some(kind) if cpu.capacity.is_none() || capacity(cpu) * whole >= capacity(kind[0]) * part => {
                kind.push(cpu);
            }
            _ => kinds.push(vec![cpu]),
        }
    }
    kinds.into_iter().map(list).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(kinds: &[CoreKind]) -> Vec<Cpu> {
        let cpu = |(id, kind): (usize, &CoreKind)| Cpu { id: id as u32, kind: *kind, ..Cpu::default() };
        kinds.iter().enumerate().map(cpu).collect()
    }

    fn with_capacities(capacities: &[u32]) -> Vec<Cpu> {
        let mut all = cpus(&vec![CoreKind::Performance; capacities.len()]);
        for (cpu, capacity) in all.iter_mut().zip(capacities) {
            (cpu.online, cpu.capacity) = (true, Some(*capacity));
            if *capacity < 768 {
                cpu.kind = CoreKind::Efficiency;
            }
        }
        all
    }

    fn written(kinds: Result<Kinds, KindsError>) -> String {
        let kinds =
            kinds.map(|kinds| kinds.cpus().iter().map(CpuList::to_string).collect::<Vec<_>>().join("/"));
        kinds.unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn the_machine_says_or_somebody_does() {
        let hybrid = cpus(&[CoreKind::Performance, CoreKind::Efficiency, CoreKind::Performance]);
        assert_eq!(written(Kinds::of(&hybrid)), "0,2/1");
        assert_eq!(written(Kinds::with_fast(&hybrid, &"1".parse().unwrap())), "1/0,2");
        assert_eq!(written(Kinds::named(&hybrid, "1/2/0")), "1/2/0");
        assert_eq!(Kinds::of(&cpus(&[CoreKind::Uniform; 2])), Err(KindsError::AllAlike));
    }

    #[test]
    fn capacities_set_three_kinds_apart() {
        assert_eq!(written(Kinds::of(&with_capacities(&[250, 250, 620, 1024, 620]))), "3/2,4/0-1");
        // Favoured cores do not form a kind of their own.
        assert_eq!(written(Kinds::of(&with_capacities(&[1024, 980, 1024, 500]))), "0-2/3");
        // Nor are more than four kinds told apart.
        assert_eq!(written(Kinds::of(&with_capacities(&[1024, 900, 700, 500, 300]))), "0-1/2-4");
        let mut off = with_capacities(&[1024, 620, 250]);
        off.push(Cpu { id: 3, ..Cpu::default() });
        assert_eq!(written(Kinds::of(&off)), "0/1/2-3");
    }

    #[test]
    fn the_kernel_alone_says_which_are_of_which_kind_or_that_it_does_not_know() {
        let of = |capacities: &[u32]| written(Kinds::of_kernel(&with_capacities(capacities)));
        assert_eq!(of(&[1024, 1024, 446, 446, 446, 446]), "0-1/2-5");
        assert_eq!(of(&[250, 250, 620, 1024, 620]), "3/2,4/0-1");
        assert!(
            of(&[1024, 1000]).starts_with("--kinds kernel: the capacities of the CPUs here"),
            "{}",
            of(&[1024, 1000])
        );
        assert!(of(&[1024, 1000]).contains("are 1000 to 1024, which is one kind"));
        assert!(
            of(&[1024, 900, 700, 500, 300]).contains("make 5 kinds"),
            "{}",
            of(&[1024, 900, 700, 500, 300])
        );
        let mut one_lacks_it = with_capacities(&[1024, 446]);
        one_lacks_it[1].capacity = None;
        let said = written(Kinds::of_kernel(&one_lacks_it));
        assert!(said.contains("/sys/devices/system/cpu/cpu1/cpu_capacity is not there"), "{said}");
        // A CPU that is switched off need not have it.
        one_lacks_it[1].online = false;
        one_lacks_it.push(Cpu { id: 2, online: true, capacity: Some(500), ..Cpu::default() });
        assert_eq!(written(Kinds::of_kernel(&one_lacks_it)), "0/1-2");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let alike = cpus(&[CoreKind::Uniform; 3]);
        let fast = |list: &str| written(Kinds::with_fast(&alike, &list.parse().unwrap()));
        assert_eq!(fast("0,7"), "there is no CPU 7 here; there are 0-2");
        assert_eq!(fast("0-2"), KindsError::NoneSlow.to_string());
        for (text, words) in [
            ("0/1/3", "there is no CPU 3 here; there are 0-2"),
            ("0/1", "--kinds 0/1: CPU 2 is missing"),
            ("0-1/1-2", "--kinds 0-1/1-2: CPU 1 is named twice"),
            ("0-2", "--kinds 0-2: 1 kinds, where 2 to 4 can be told apart"),
            ("0//1-2", "--kinds 0//1-2: '' names no CPUs"),
            ("0/b", "--kinds 0/b: 'b' names no CPUs"),
        ] {
            let said = written(Kinds::named(&alike, text));
            assert!(said.starts_with(words), "{said}");
        }
    }
}
