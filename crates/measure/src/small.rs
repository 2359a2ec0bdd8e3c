//! A process that is small when it forks, so that what a fork costs does not hang on the program that measures.
//!
//! A fork copies the tables of all pages that a process has written. An interpreter with much memory would measure its own size.

use std::fs;
use std::ops::Range;

/// Smaller pieces of memory stay: a small program has such too, and the child needs some of them, as that of its thread.
const LEAST_BYTES: usize = 256 << 10;

/// Keeps large pieces of this process's own memory out of its children. They may only end then, as those of
/// [`bare_fork`](crate::sys::bare_fork) do. What cannot be kept out stays, and makes a fork dearer.
pub(crate) fn keep_memory_from_children() {
    let here = 0_u8;
    let stack = (&raw const here).addr();
    for range in own_memory(&fs::read_to_string("/proc/self/maps").unwrap_or_default()) {
        if range.len() >= LEAST_BYTES && !range.contains(&stack) {
            // SAFETY: only whether a child gets the range is set; this process keeps it.
            unsafe {
                let start = std::ptr::without_provenance_mut(range.start);
                libc::madvise(start, range.len(), libc::MADV_DONTFORK);
            }
        }
    }
}

/// Ranges that a process may write, and that belong neither to a file nor to another process: `7f00-8000 rw-p 00000000 00:00 0 [heap]`.
fn own_memory(maps: &str) -> impl Iterator<Item = Range<usize>> {
    maps.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (range, access) = (words.next()?, words.next()?);
        let (inode, name) = (words.nth(2)?, words.next().unwrap_or_default());
        let is_own = access == "rw-p" && inode == "0" && name != "[stack]";
        let (start, end) = range.split_once('-').filter(|_| is_own)?;
        Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_is_what_can_be_written_and_is_no_files() {
        let maps = "55d0a000-55d0b000 rw-p 00002000 08:01 77 /bin/true\n55d0c000-55e0c000 rw-p 00000000 00:00 0 [heap]\n\
                    7f000000-7f100000 rw-s 00000000 00:01 9 /dev/zero\n7f200000-7f300000 r--p 00000000 00:00 0\n\
                    7f400000-7f500000 rw-p 00000000 00:00 0 \n7ffc0000-7ffe0000 rw-p 00000000 00:00 0 [stack]\nnonsense\n";
        let found: Vec<_> = own_memory(maps).collect();
        assert_eq!(found, [0x55d0_c000..0x55e0_c000, 0x7f40_0000..0x7f50_0000]);
    }
}
