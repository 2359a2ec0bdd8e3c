//! `/proc/meminfo`, and the files of the NUMA nodes in the same format.

use crate::files::Files;

/// The machine's memory.
pub(crate) struct Memory {
    /// All of it, in bytes.
    pub(crate) total_bytes: Option<u64>,
    /// What can be taken without swapping, in bytes.
    pub(crate) available_bytes: Option<u64>,
}

/// Reads `/proc/meminfo`.
pub(crate) fn read(files: &Files) -> Memory {
    let text = files.text("proc/meminfo").unwrap_or_default();
    Memory {
        total_bytes: field_bytes(&text, "MemTotal"),
        available_bytes: field_bytes(&text, "MemAvailable"),
    }
}

/// A field in bytes: `MemTotal:  24684092 kB`, or `Node 0 MemTotal:  24684092 kB` in a node's file. What the kernel calls kB is
/// KiB.
pub(crate) fn field_bytes(text: &str, field: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.split_whitespace().last() == Some(field)).then_some(value)
    })?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::field_bytes;
    use proptest::prelude::*;

    #[test]
    fn both_formats() {
        assert_eq!(field_bytes("MemTotal:       1024 kB\nMemFree: 1 kB", "MemTotal"), Some(1 << 20));
        assert_eq!(field_bytes("Node 1 MemTotal:       2 kB", "MemTotal"), Some(2048));
    }

    #[test]
    fn nonsense_is_absent() {
        for text in ["", "MemTotal:", "MemTotal: x kB", "MemTotal: 18446744073709551615 kB", "MemTotal 1 kB"]
        {
            assert_eq!(field_bytes(text, "MemTotal"), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,100}") {
            let _ = field_bytes(&format!("MemTotal:{text}"), "MemTotal");
        }
    }
}
