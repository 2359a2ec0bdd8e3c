//! What the kernel says of sched_ext, read from sysfs under any root.

use crate::error::SchedulerError;
use std::path::Path;

const SCHED_EXT: &str = "sys/kernel/sched_ext";

/// Whether a scheduler can be loaded here.
///
/// # Errors
/// When not, with the reason.
pub(crate) fn check(root: &Path, is_root: bool) -> Result<(), SchedulerError> {
    let folder = root.join(SCHED_EXT);
    if !folder.is_dir() {
        let release = std::fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
        return Err(SchedulerError::NoSchedExt { release: release.trim().to_owned() });
    }
    if let Some(name) = loaded(root) {
        return Err(SchedulerError::AnotherLoaded { name });
    }
    if is_root { Ok(()) } else { Err(SchedulerError::NotRoot) }
}

/// The scheduler that is loaded.
pub(crate) fn loaded(root: &Path) -> Option<String> {
    let word = |path: &str| {
        let text = std::fs::read_to_string(root.join(SCHED_EXT).join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|word| !word.is_empty())
    };
    if word("state").as_deref() == Some("disabled") {
        return None;
    }
    word("root/ops")
}

/// How often CPUs came and went: a scheduler that was made for another number of them is refused by the kernel.
///
/// # Errors
/// When the kernel does not say.
pub(crate) fn hotplug_sequence(root: &Path) -> Result<u64, SchedulerError> {
    let path = root.join(SCHED_EXT).join("hotplug_seq");
    let text = std::fs::read_to_string(&path)
        .map_err(|source| SchedulerError::Unreadable { path: path.clone(), source })?;
    text.trim().parse().map_err(|_| SchedulerError::Unreadable {
        path,
        source: std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            format!("'{}' is no number", text.trim()),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_kernel_without_sched_ext_is_named() {
        let root = kernel(&[("proc/sys/kernel/osrelease", "6.1.0-9\n")]);
        let error = check(root.path(), true).unwrap_err().to_string();
        assert!(error.contains("6.1.0-9") && error.contains("swtch vm") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn what_is_loaded_is_named() {
        let root = kernel(&[
            ("sys/kernel/sched_ext/state", "enabled\n"),
            ("sys/kernel/sched_ext/root/ops", "lavd_1.0\n"),
        ]);
        assert!(check(root.path(), true).unwrap_err().to_string().contains("lavd_1.0"));
    }

    #[test]
    fn root_may_where_nothing_is_loaded() {
        let root = kernel(&[
            ("sys/kernel/sched_ext/state", "disabled\n"),
            ("sys/kernel/sched_ext/hotplug_seq", "12\n"),
        ]);
        assert!(check(root.path(), true).is_ok());
        assert!(matches!(check(root.path(), false), Err(SchedulerError::NotRoot)));
        assert_eq!(hotplug_sequence(root.path()).unwrap(), 12);
    }

    #[test]
    fn a_sequence_that_is_no_number_is_an_error_with_its_file() {
        let root = kernel(&[("sys/kernel/sched_ext/hotplug_seq", "many\n")]);
        let error = hotplug_sequence(root.path()).unwrap_err().to_string();
        assert!(error.contains("hotplug_seq") && error.contains("many"), "{error}");
    }
}
