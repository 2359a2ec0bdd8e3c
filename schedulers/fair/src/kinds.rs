//! Which CPUs are of the fast kind.

use swtch_topology::host::{CoreKind, Cpu};
use swtch_units::CpuList;

/// Why the fast CPUs are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KindsError {
    /// The machine's CPUs are alike, or it does not say.
    #[error(
        "the CPUs here are all of one kind, as far as the machine says; name the fast ones with --fast 0-1 (and, to try it, slow the others down with --throttle-slow 2)"
    )]
    AllAlike,
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
}

/// The fast CPUs: those that were named, else those that the kernel's facts set apart (capacity, frequency, or the kinds of performance units).
///
/// # Errors
/// When there are none, or none besides.
pub fn fast_cpus(cpus: &[Cpu], named: Option<&CpuList>) -> Result<Vec<u32>, KindsError> {
    let Some(named) = named else {
        let fast: Vec<u32> =
            cpus.iter().filter(|cpu| cpu.kind == CoreKind::Performance).map(|cpu| cpu.id).collect();
        let has_slow = cpus.iter().any(|cpu| cpu.kind == CoreKind::Efficiency);
        return if fast.is_empty() || !has_slow { Err(KindsError::AllAlike) } else { Ok(fast) };
    };
    let named = named.numbers();
    if let Some(cpu) = named.iter().find(|named| !cpus.iter().any(|cpu| cpu.id == **named)) {
        let present = cpus.iter().map(|cpu| swtch_units::CpuId::new(cpu.id)).collect();
        return Err(KindsError::NoSuchCpu { cpu: *cpu, present });
    }
    if named.is_empty() {
        return Err(KindsError::AllAlike);
    }
    if cpus.iter().all(|cpu| named.contains(&cpu.id)) { Err(KindsError::NoneSlow) } else { Ok(named) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(kinds: &[CoreKind]) -> Vec<Cpu> {
        let cpu = |(id, kind): (usize, &CoreKind)| Cpu { id: id as u32, kind: *kind, ..Cpu::default() };
        kinds.iter().enumerate().map(cpu).collect()
    }

    #[test]
    fn the_machine_says_or_somebody_does() {
        let hybrid = cpus(&[CoreKind::Performance, CoreKind::Efficiency, CoreKind::Performance]);
        assert_eq!(fast_cpus(&hybrid, None), Ok(vec![0, 2]));
        assert_eq!(fast_cpus(&hybrid, Some(&"1".parse().unwrap())), Ok(vec![1]));
        assert_eq!(fast_cpus(&cpus(&[CoreKind::Uniform; 2]), None), Err(KindsError::AllAlike));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let alike = cpus(&[CoreKind::Uniform; 2]);
        let error = fast_cpus(&alike, Some(&"0,7".parse().unwrap())).unwrap_err();
        assert_eq!(error.to_string(), "there is no CPU 7 here; there are 0-1");
        assert_eq!(fast_cpus(&alike, Some(&"0-1".parse().unwrap())), Err(KindsError::NoneSlow));
    }
}
