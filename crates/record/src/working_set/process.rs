//! The memory that a process touches, by the marks that the hardware leaves in its page tables.

use crate::clock::{cpu_ns_of, monotonic_ns};
use crate::thread_files::{self, Stat};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};

/// What a page that was touched may cost the process after the marks were taken away. It is another walk through the page tables. Where
/// the kernel tracks writes by the same means (CONFIG_MEM_SOFT_DIRTY), it is a fault. ns.
const WALK_NS: u64 = 100;
const FAULT_NS: u64 = 1_500;

/// The result of one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// For how long the process ran in it at least, ns.
    pub(super) run_ns: u64,
    pub(super) memory: Memory,
    /// For how long it may have disturbed the process, ns.
    pub(super) disturbed_ns: u64,
}

/// What the kernel says of a process's memory, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) touched: u64,
    pub(super) resident: u64,
    /// In huge pages, of which one counts whole.
    pub(super) huge: u64,
}

/// Takes the marks away, waits, and looks which are there again.
pub(super) fn look(pid: u32, wait: impl FnOnce(), tracks_writes: bool) -> io::Result<Window> {
    let began_ns = monotonic_ns();
    let mut marks = OpenOptions::new().write(true).open(format!("/proc/{pid}/clear_refs"))?;
    marks.write_all(b"1")?;
    // CPUs leave no mark for a page whose address they still know, and 1 does not make them forget. 4 does (fs/proc/task_mmu.c,
    // v6.18: flush_tlb_mm only for soft-dirty).
    marks.write_all(b"4")?;
    let before_ns = cpu_ns_of(pid);
    let cleared_ns = monotonic_ns();
    wait();
    let after_ns = cpu_ns_of(pid);
    let reading_ns = monotonic_ns();
    let memory = memory(pid)?;
    let page = if tracks_writes { FAULT_NS } else { WALK_NS };
    let run_ns = before_ns.zip(after_ns).map(|(before, after)| after.saturating_sub(before));
    Ok(Window {
        run_ns: run_ns.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?,
        memory,
        disturbed_ns: (cleared_ns - began_ns) + (monotonic_ns() - reading_ns) + memory.touched / 4096 * page,
    })
}

fn memory(pid: u32) -> io::Result<Memory> {
    let mut text = String::new();
    // The sum, or where the kernel makes none (before 4.14) its parts.
    File::open(format!("/proc/{pid}/smaps_rollup"))
        .or_else(|_| File::open(format!("/proc/{pid}/smaps")))?
        .read_to_string(&mut text)?;
    sums(&text).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

/// `Referenced:   12 kB`, once a mapping.
fn sums(text: &str) -> Option<Memory> {
    let sum = |name: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        lines
            .filter_map(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok())
            .reduce(|a, b| a + b)
    };
    let huge = ["AnonHugePages", "ShmemPmdMapped", "FilePmdMapped", "Shared_Hugetlb", "Private_Hugetlb"];
    Some(Memory {
        touched: sum("Referenced")? << 10,
        resident: sum("Rss")? << 10,
        huge: huge.iter().filter_map(|name| sum(name)).sum::<u64>() << 10,
    })
}

/// Whether the kernel tracks writes, so that taking the marks away makes every page fault at the next one: then its mappings have `sd`.
pub(super) fn tracks_writes() -> bool {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let mut flags = smaps.lines().filter_map(|line| line.strip_prefix("VmFlags:"));
    flags.any(|flags| flags.split_whitespace().any(|flag| flag == "sd"))
}

/// What is used of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pub(super) parent_pid: u32,
    /// None for threads of the kernel and for what has ended.
    pub(super) resident_pages: u64,
    /// In ticks: all threads, those that ended too.
    pub(super) user: u64,
    pub(super) system: u64,
}

pub(super) fn stat(pid: u32) -> Option<ProcessStat> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let Stat { parent_pid, resident_pages, user_ticks: user, system_ticks: system, .. } =
        thread_files::stat(&text)?;
    Some(ProcessStat { parent_pid, resident_pages: resident_pages?, user, system })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_sums_read_alike() {
        let rollup = "5-7 ---p 0 00:00 0 [rollup]\nRss:   12 kB\nReferenced:   8 kB\nAnonHugePages:  0 kB\nFilePmdMapped: 4 kB\n";
        let parts = "Rss: 4 kB\nReferenced: 4 kB\nFilePmdMapped: 4 kB\nRss: 8 kB\nReferenced: 4 kB\nAnonHugePages: 0 kB\n";
        let found = Memory { touched: 8 << 10, resident: 12 << 10, huge: 4 << 10 };
        assert_eq!((sums(rollup), sums(parts)), (Some(found), Some(found)));
        assert_eq!(sums("nothing"), None);
    }

    #[test]
    fn we_know_ourselves() {
        let me = stat(std::process::id()).unwrap();
        assert!(me.resident_pages > 0 && me.parent_pid > 0);
        assert_eq!(stat(u32::MAX), None);
    }
}
