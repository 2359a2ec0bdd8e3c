//! Whether CPUs came or went since a scheduler was opened.

use crate::error::SchedulerError;
use std::path::Path;
use swtch_sched_ext::DIRECTORY;

/// How often CPUs came and went. The kernel refuses a scheduler that was opened before the last change.
///
/// # Errors
/// When the kernel does not say.
pub(crate) fn hotplug_sequence(root: &Path) -> Result<u64, SchedulerError> {
    let path = root.join(DIRECTORY).join("hotplug_seq");
    let text = std::fs::read_to_string(&path)
        .map_err(|source| SchedulerError::Unreadable { path: path.clone(), source })?;
    text.trim().parse().map_err(|_| SchedulerError::Unreadable {
        path,
        source: std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            format!("'{}' is not a number", text.trim()),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<u64, SchedulerError> {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join(DIRECTORY);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("hotplug_seq"), text).unwrap();
        hotplug_sequence(root.path())
    }

    #[test]
    fn a_sequence_that_is_not_a_number_is_an_error_with_its_file() {
        assert_eq!(found("12\n").unwrap(), 12);
        let error = found("many\n").unwrap_err().to_string();
        assert!(error.contains("hotplug_seq") && error.contains("many"), "{error}");
    }
}
