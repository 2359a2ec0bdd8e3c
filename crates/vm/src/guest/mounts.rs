//! File systems that programs expect.

use rustix::mount::{MountFlags, mount};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;

/// Place and type; what comes later may be in what comes first.
const MOUNTS: [(&str, &str); 9] = [
    ("/proc", "proc"),
    ("/sys", "sysfs"),
    ("/dev", "devtmpfs"),
    ("/dev/pts", "devpts"),
    ("/dev/shm", "tmpfs"),
    ("/sys/fs/cgroup", "cgroup2"),
    ("/sys/fs/bpf", "bpf"),
    ("/sys/kernel/tracing", "tracefs"),
    ("/sys/kernel/debug", "debugfs"),
];
const LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// Mounts all; returns what this kernel does not have.
pub(super) fn all() -> Vec<(String, io::Error)> {
    let mut missing = Vec::new();
    for (place, kind) in MOUNTS {
        // Most directories exist; where one cannot be made, mounting says so.
        let _ = fs::create_dir_all(place);
        if let Err(error) = mount(kind, place, kind, MountFlags::empty(), None) {
            missing.push((place.to_owned(), error.into()));
        }
    }
    for (link, target) in LINKS {
        let _ = symlink(target, link);
    }
    missing
}
