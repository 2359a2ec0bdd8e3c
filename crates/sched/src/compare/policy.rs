//! Policies by name.

use crate::error::SchedError;
use crate::find::{Found, SearchPath, name_of_file};
use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;

/// What a command is run under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// As it is: the kernel's fair class, normally.
    Stock,
    /// SCHED_FIFO, at the lowest priority.
    Fifo,
    /// SCHED_RR, at the lowest priority.
    RoundRobin,
    /// A sched_ext scheduler and its options.
    Scheduler {
        /// Without `scx_`; of a file, without its directory and end.
        name: String,
        /// The file, of a scheduler that is one.
        file: Option<String>,
        /// Options.
        options: Vec<String>,
    },
}

impl FromStr for Policy {
    type Err = Infallible;

    /// ```
    /// use swtch_sched::Policy;
    ///
    /// assert_eq!("rr".parse(), Ok(Policy::RoundRobin));
    /// let policy: Policy = "flsched --slice 5ms".parse().unwrap();
    /// assert_eq!(policy.to_string(), "flsched --slice 5ms");
    /// ```
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let mut words = text.split_whitespace().map(str::to_owned);
        let name = words.next().unwrap_or_default();
        let options: Vec<String> = words.collect();
        Ok(match name.as_str() {
            "stock" if options.is_empty() => Self::Stock,
            "fifo" if options.is_empty() => Self::Fifo,
            "rr" if options.is_empty() => Self::RoundRobin,
            _ => {
                let stem = name_of_file(&name).map(str::to_owned);
                let file = stem.is_some().then(|| name.clone());
                let known = stem.unwrap_or_else(|| name.strip_prefix("scx_").unwrap_or(&name).to_owned());
                Self::Scheduler { name: known, file, options }
            }
        })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stock => formatter.write_str("stock"),
            Self::Fifo => formatter.write_str("fifo"),
            Self::RoundRobin => formatter.write_str("rr"),
            Self::Scheduler { name, options, .. } => {
                formatter.write_str(name)?;
                options.iter().try_for_each(|option| write!(formatter, " {option}"))
            }
        }
    }
}

/// util-linux's program that sets a policy and becomes the command.
pub(super) const CHRT: &str = "chrt";

/// A policy that this machine has what is needed for.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// As it is shown.
    pub(crate) name: String,
    /// Before the command.
    pub(crate) prefix: &'static [&'static str],
    /// The scheduler, if it is one.
    pub(crate) found: Option<Found>,
    /// Its options.
    pub(crate) arguments: Vec<OsString>,
}

impl Policy {
    pub(crate) fn prepare(&self, search_path: &SearchPath) -> Result<Prepared, SchedError> {
        let name = self.to_string();
        let prefix: &[&str] = match self {
            Self::Fifo => &[CHRT, "--fifo", "1"],
            Self::RoundRobin => &[CHRT, "--rr", "1"],
            _ => &[],
        };
        let (found, arguments) = match self {
            Self::Scheduler { name, file, options } => {
                let found = search_path.find(file.as_ref().unwrap_or(name))?;
                (Some(found), options.iter().map(OsString::from).collect())
            }
            _ => (None, Vec::new()),
        };
        Ok(Prepared { name, prefix, found, arguments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_policies_and_all_others_are_schedulers() {
        let policy = |text: &str| text.parse::<Policy>().unwrap();
        assert_eq!(
            [policy("stock"), policy("fifo"), policy(" rr ")],
            [Policy::Stock, Policy::Fifo, Policy::RoundRobin]
        );
        assert_eq!(policy("scx_bpfland").to_string(), "bpfland");
        assert_eq!(policy("dir/mine.bpf.c --set a=1").to_string(), "mine --set a=1");
        assert_eq!(policy("flsched --slice 5ms").to_string(), "flsched --slice 5ms");
    }
}
