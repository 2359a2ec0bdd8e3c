//! Where the two tasks of a measurement run.

use swtch_units::{CpuId, words};

use crate::host::{Cache, CacheKind, CoreKind, Cpu, Host};

words! {
    /// Where the tasks of a measurement run, nearest first.
    pub enum Placement("placement") {
        /// Both on one CPU: each hand-over is a context switch.
        SameCpu = "same-cpu",
        /// On two threads of one core.
        SmtSibling = "smt-sibling",
        /// On two cores that share a level-2 cache.
        SharedL2 = "shared-l2",
        /// On two cores that share a level-3 cache but no level-2 cache.
        SharedL3 = "shared-l3",
        /// On two cores of one package that share neither.
        SamePackage = "same-package",
        /// On two packages (sockets).
        OtherPackage = "other-package",
        /// On a faster and a slower core.
        OtherCoreKind = "other-core-kind",
        /// Wherever the scheduler puts them.
        Unpinned = "unpinned",
    }
}

impl Host {
    /// The CPUs for a placement, ascending: one for `same-cpu`, two for the others, none for `unpinned`, which pins nothing.
    ///
    /// Only CPUs that are on and that this process may run on are taken. The last ones come first into question, because
    /// interrupts favour CPU 0; on a machine with two kinds of core, the faster kind does.
    ///
    /// # Errors
    /// The reason, in one line, why this machine has no such CPUs.
    pub fn pair_for(&self, placement: Placement) -> Result<Vec<CpuId>, String> {
        let usable = self.usable_cpus();
        if usable.is_empty() {
            return Err("no CPU that this process may run on is online".to_owned());
        }
        match placement {
            Placement::Unpinned => return Ok(Vec::new()),
            Placement::SameCpu => return Ok(vec![CpuId::new(usable[0].id)]),
            _ => {}
        }
        if let Some(pair) = self.find_pair(placement, &usable) {
            return Ok(pair);
        }
        let online: Vec<&Cpu> = self.cpus.iter().filter(|cpu| cpu.online).collect();
        Err(match (usable.len(), online.len()) {
            (_, 1) => "the machine has only one CPU online".to_owned(),
            (1, _) => "only one CPU is allowed (cpuset or affinity)".to_owned(),
            _ if self.find_pair(placement, &online).is_some() => {
                format!("the machine has such CPUs, but not among the {} that are allowed", usable.len())
            }
            _ => self.why_no_pair(placement),
        })
    }

    /// One CPU for each kind of core, faster first, so that `same-cpu` can be measured on each. On a machine of one kind
    /// it is the CPU of [`Host::pair_for`].
    pub fn same_cpu_by_kind(&self) -> Vec<(CoreKind, CpuId)> {
        let usable = self.usable_cpus();
        [CoreKind::Performance, CoreKind::Uniform, CoreKind::Efficiency]
            .into_iter()
            .filter_map(|kind| {
                let cpu = usable.iter().find(|cpu| cpu.kind == kind)?;
                Some((kind, CpuId::new(cpu.id)))
            })
            .collect()
    }

    /// Capacity in bytes of the largest cache of the last level; absent where the machine does not describe its caches.
    pub fn last_level_cache_bytes(&self) -> Option<u64> {
        let data = || self.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
        let last = data().map(|cache| cache.level).max()?;
        data().filter(|cache| cache.level == last).map(|cache| cache.bytes).max()
    }

    /// The caches that hold data for a CPU, level 1 first; empty where the machine does not describe them.
    pub fn data_caches_of(&self, cpu: CpuId) -> Vec<&Cache> {
        let mut caches: Vec<&Cache> = self
            .caches
            .iter()
            .filter(|cache| cache.kind != CacheKind::Instruction && cache.shared_by.contains(&cpu.get()))
            .collect();
        caches.sort_by_key(|cache| cache.level);
        caches
    }

    /// The CPUs that are on and allowed, in the order in which they come into question.
    pub(crate) fn usable_cpus(&self) -> Vec<&Cpu> {
        let mut usable: Vec<&Cpu> =
            self.cpus.iter().filter(|cpu| cpu.online && self.limits.allowed_cpus.contains(&cpu.id)).collect();
        usable.sort_by_key(|cpu| (cpu.kind == CoreKind::Efficiency, std::cmp::Reverse(cpu.id)));
        usable
    }

    fn find_pair(&self, placement: Placement, cpus: &[&Cpu]) -> Option<Vec<CpuId>> {
        // The caches are looked up once a CPU, not once a pair: large machines have many of both.
        let reaches: Vec<Reach<'_>> = cpus.iter().map(|cpu| self.reach(cpu)).collect();
        let (one, other) = reaches.iter().enumerate().find_map(|(at, one)| {
            let other = reaches[at + 1..].iter().find(|other| one.is_placed(placement, other))?;
            Some((one.cpu.id, other.cpu.id))
        })?;
        Some(vec![CpuId::new(one.min(other)), CpuId::new(one.max(other))])
    }

    fn reach<'a>(&self, cpu: &'a Cpu) -> Reach<'a> {
        let data = |cache: &Cache| cache.kind != CacheKind::Instruction && cache.shared_by.contains(&cpu.id);
        let cache = |level| self.caches.iter().position(|cache| cache.level == level && data(cache));
        Reach { cpu, l2: cache(2), l3: cache(3), described: self.caches.iter().any(data) }
    }

    fn why_no_pair(&self, placement: Placement) -> String {
        let has_level = |level| self.caches.iter().any(|cache| cache.level == level);
        let of_cache = |level, reason: &str| {
            if self.caches.is_empty() {
                "the machine does not describe its caches".to_owned()
            } else if has_level(level) {
                reason.to_owned()
            } else {
                format!("there is no L{level} cache")
            }
        };
        let packages_known = self.cpus.iter().any(|cpu| cpu.package.is_some());
        match placement {
            Placement::SmtSibling if self.cpus.iter().all(|cpu| cpu.smt_siblings.is_empty()) => {
                "the machine does not say which CPUs share a core".to_owned()
            }
            Placement::SmtSibling => "each core runs one thread (SMT is absent or off)".to_owned(),
            Placement::SharedL2 => of_cache(2, "no two cores share an L2"),
            Placement::SharedL3 => of_cache(3, "no two cores share an L3 without sharing an L2"),
            Placement::SamePackage | Placement::OtherPackage if !packages_known => {
                "the machine does not say which package a CPU belongs to".to_owned()
            }
            Placement::SamePackage if self.caches.is_empty() => {
                "the machine does not describe its caches".to_owned()
            }
            Placement::SamePackage => "all alike cores of a package share an L2 or an L3".to_owned(),
            Placement::OtherPackage => "the machine has one package".to_owned(),
            Placement::OtherCoreKind => "all cores are of one kind".to_owned(),
            Placement::SameCpu | Placement::Unpinned => String::new(),
        }
    }
}

/// A CPU and the caches it reaches, as places in the list of caches.
struct Reach<'a> {
    cpu: &'a Cpu,
    l2: Option<usize>,
    l3: Option<usize>,
    /// Whether the machine describes any cache of it.
    described: bool,
}

impl Reach<'_> {
    /// Whether two CPUs are a pair for a placement of two.
    fn is_placed(&self, placement: Placement, other: &Self) -> bool {
        let same = |one: Option<usize>, other: Option<usize>| one.is_some() && one == other;
        let (l2, l3) = (same(self.l2, other.l2), same(self.l3, other.l3));
        let threads = self.cpu.smt_siblings.contains(&other.cpu.id);
        // A figure for a distance must not mix in the other core's speed.
        let alike = self.cpu.kind == other.cpu.kind;
        let packages = self.cpu.package.zip(other.cpu.package);
        match placement {
            Placement::SmtSibling => threads,
            Placement::SharedL2 => alike && !threads && l2,
            Placement::SharedL3 => alike && !threads && l3 && !l2,
            // Without a description of both, "shares nothing" would be a guess.
            Placement::SamePackage => {
                let apart = self.described && other.described && !l2 && !l3;
                alike && !threads && apart && packages.is_some_and(|(one, other)| one == other)
            }
            Placement::OtherPackage => alike && packages.is_some_and(|(one, other)| one != other),
            Placement::OtherCoreKind => {
                !alike && self.cpu.kind != CoreKind::Uniform && other.cpu.kind != CoreKind::Uniform
            }
            Placement::SameCpu | Placement::Unpinned => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for placement in Placement::ALL {
            assert_eq!(placement.to_string().parse(), Ok(placement));
        }
        let message = "shared-l9".parse::<Placement>().unwrap_err().to_string();
        assert_eq!(
            message,
            "unknown placement 'shared-l9'; expected same-cpu, smt-sibling, shared-l2, shared-l3, same-package, \
             other-package, other-core-kind, unpinned"
        );
    }

    /// CPUs with the given numbers, alike, in one package, each with an L2 of its own.
    fn host(ids: &[u32]) -> Host {
        let cpu = |id: &u32| Cpu {
            id: *id,
            online: true,
            package: Some(0),
            smt_siblings: vec![*id],
            ..Cpu::default()
        };
        let cache = |id: &u32| Cache {
            level: 2,
            kind: CacheKind::Unified,
            bytes: 1 << 20,
            line_bytes: None,
            ways: None,
            shared_by: vec![*id],
        };
        let mut host = Host {
            cpus: ids.iter().map(cpu).collect(),
            caches: ids.iter().map(cache).collect(),
            ..Host::default()
        };
        host.limits.allowed_cpus = ids.to_vec();
        host
    }

    fn numbers(host: &Host, placement: Placement) -> Result<Vec<u32>, String> {
        host.pair_for(placement).map(|cpus| cpus.iter().map(|cpu| cpu.get()).collect())
    }

    #[test]
    fn holes_and_numbers_beyond_64() {
        let host = host(&[0, 5, 64, 130]);
        assert_eq!(numbers(&host, Placement::SameCpu), Ok(vec![130]));
        assert_eq!(numbers(&host, Placement::SamePackage), Ok(vec![64, 130]));
    }

    #[test]
    fn a_processor_without_caches_is_not_said_to_share_none() {
        let mut host = host(&[0, 1]);
        host.caches.pop();
        assert!(numbers(&host, Placement::SamePackage).is_err());
    }

    #[test]
    fn processors_that_are_off_or_not_allowed_are_not_taken() {
        let mut host = host(&[0, 1, 2, 3]);
        host.cpus[3].online = false;
        assert_eq!(numbers(&host, Placement::SamePackage), Ok(vec![1, 2]));
        for package in [0, 1] {
            host.cpus[package].package = Some(7);
        }
        host.limits.allowed_cpus = vec![0, 1];
        assert_eq!(
            numbers(&host, Placement::OtherPackage),
            Err("the machine has such CPUs, but not among the 2 that are allowed".to_owned())
        );
        host.limits.allowed_cpus = vec![3];
        assert_eq!(
            numbers(&host, Placement::SameCpu),
            Err("no CPU that this process may run on is online".to_owned())
        );
    }
}
