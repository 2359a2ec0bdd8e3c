use std::fmt;
use std::str::FromStr;

/// A logical CPU's number, as the kernel counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuId(u32);

impl CpuId {
    /// CPU number `n`.
    pub const fn new(n: u32) -> Self {
        Self(n)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A set of CPUs in the kernel's list notation, `0-3,8` (Documentation/admin-guide/cputopology.rst, Linux 6.18);
/// sorted, without repetition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(Vec<CpuId>);

impl CpuList {
    /// The CPUs, ascending.
    pub fn cpus(&self) -> &[CpuId] {
        &self.0
    }

    /// The CPUs' numbers, ascending.
    pub fn numbers(&self) -> Vec<u32> {
        self.0.iter().map(|cpu| cpu.get()).collect()
    }
}

impl FromIterator<CpuId> for CpuList {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut cpus: Vec<CpuId> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        Self(cpus)
    }
}

/// Why a text is not a list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a list of CPUs; write it as 0-3,8")]
pub struct ParseCpuListError(String);

/// No machine has more; a longer range is a mistake and would only fill the memory.
const MOST_CPUS: u32 = 1 << 16;

impl FromStr for CpuList {
    type Err = ParseCpuListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseCpuListError(text.trim().to_owned());
        let number =
            |part: &str| part.trim().parse::<u32>().ok().filter(|n| *n < MOST_CPUS).ok_or_else(wrong);
        let mut cpus = Vec::new();
        for part in text.trim().split(',').filter(|part| !part.trim().is_empty()) {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if first > last {
                return Err(wrong());
            }
            cpus.extend((first..=last).map(CpuId));
        }
        Ok(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&number_list(self.0.iter().map(|cpu| u64::from(cpu.0))))
    }
}

/// Ascending numbers as the kernel lists CPUs and SLURM the tasks of an array: `0,3,17-19`.
///
/// ```
/// assert_eq!(swtch_units::number_list([0, 3, 17, 18, 19]), "0,3,17-19");
/// ```
pub fn number_list(numbers: impl IntoIterator<Item = u64>) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let text = runs.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_the_kernels_notation() {
        for (text, numbers, written) in [
            ("0-3,8\n", vec![0, 1, 2, 3, 8], "0-3,8"),
            ("5", vec![5], "5"),
            ("", vec![], ""),
            ("3,2,1,2", vec![1, 2, 3], "1-3"),
            ("31-33", vec![31, 32, 33], "31-33"),
        ] {
            let list: CpuList = text.parse().unwrap();
            assert_eq!(list.numbers(), numbers);
            assert_eq!(list.to_string(), written);
        }
    }

    #[test]
    fn refuses_what_is_not_a_list() {
        for text in ["a", "3-1", "1-", "-1", "0-4294967295"] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }
}
