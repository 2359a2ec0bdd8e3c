use std::path::PathBuf;

use thiserror::Error;

/// Why the facts about a machine could not be read. Only what nothing can be measured without is an error; any other fact
/// that is missing or malformed is absent from [`Host`](crate::Host).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// No file says which CPUs there are.
    #[error(
        "no list of CPUs under {}: expected {} or a line for each CPU in {}; are sysfs and procfs mounted there?",
        root.display(), sysfs.display(), procfs.display()
    )]
    NoProcessors {
        /// Where the machine's files were looked for.
        root: PathBuf,
        /// The file that lists the CPUs.
        sysfs: PathBuf,
        /// The file that is read in its place.
        procfs: PathBuf,
    },
    /// A required file does not hold what it should.
    #[error("{}: expected {expected}, found '{found}'", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What it should hold.
        expected: &'static str,
        /// The beginning of what it holds.
        found: String,
    },
}
