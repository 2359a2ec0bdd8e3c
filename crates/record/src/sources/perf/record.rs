//! The records in a ring, read from their words. Any bytes give a record or nothing, never a panic.

/// A record: the task that wrote it, the time, the CPU, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// CLOCK_MONOTONIC, ns.
    pub(crate) at_ns: u64,
    /// The CPU.
    pub(crate) cpu: u32,
    /// The process that ran there; `u32::MAX` when it has none any more.
    pub(crate) pid: u32,
    /// The task that ran there; `u32::MAX` when it is gone but for its last switch.
    pub(crate) tid: u32,
    /// What it says.
    pub(crate) what: What,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The task leaves the CPU; it could have gone on; and for whom, where the record says: process and task.
    Out { preempted: bool, next: Option<(u32, u32)> },
    /// The task comes to the CPU.
    In,
    /// A task has a new name, by a new program or otherwise.
    Comm { pid: u32, tid: u32, comm: String, exec: bool },
    /// A task was made.
    Fork { pid: u32, tid: u32, parent_pid: u32, parent_tid: u32 },
    /// A task ends.
    Exit { pid: u32, tid: u32 },
    /// What a counter of a task that ended came to: the counter's number, and its value, times enabled and running, ns.
    Read { tid: u32, id: u64, value: u64, enabled_ns: u64, running_ns: u64 },
    /// A process mapped code, at an address, from a place of a file.
    Mapped { pid: u32, start: u64, length: u64, offset: u64, path: String },
    /// This many records were lost, because the ring had no place for them.
    Lost(u64),
    /// Nothing that concerns us.
    Other,
}

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const READ: u32 = 8;
const MMAP2: u32 = 10;
const LOST_SAMPLES: u32 = 13;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;

const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// Words of what ends every record (`sample_id`): process and task, time, CPU.
const TAIL: usize = 3;

/// The first word of a record: kind, bits, and length in words.
pub(super) fn head(word: u64) -> (u32, u16, usize) {
    ((word & 0xffff_ffff) as u32, (word >> 32) as u16, (word >> 48) as usize / 8)
}

/// Two numbers in a word.
fn pair(word: u64) -> (u32, u32) {
    ((word & 0xffff_ffff) as u32, (word >> 32) as u32)
}

/// A whole record, its first word included. Nothing when it is shorter than its kind is.
pub(super) fn parse(words: &[u64]) -> Option<Record> {
    let (kind, misc, length) = head(*words.first()?);
    if length != words.len() || length < 1 + TAIL {
        return None;
    }
    let (body, tail) = words[1..].split_at(length - 1 - TAIL);
    let ((pid, tid), at_ns, (cpu, _)) = (pair(tail[0]), tail[1], pair(tail[2]));
    let what = match kind {
        SWITCH | SWITCH_CPU_WIDE => switch(kind, misc, body)?,
        COMM => {
            let (pid, tid) = pair(*body.first()?);
            What::Comm { pid, tid, comm: text(&body[1..], 15), exec: misc & MISC_COMM_EXEC != 0 }
        }
        FORK => {
            let ((pid, parent_pid), (tid, parent_tid)) = (pair(*body.first()?), pair(*body.get(1)?));
            What::Fork { pid, tid, parent_pid, parent_tid }
        }
        EXIT => {
            let ((pid, _), (tid, _)) = (pair(*body.first()?), pair(*body.get(1)?));
            What::Exit { pid, tid }
        }
        READ => {
            let [who, value, enabled_ns, running_ns, id] = *body else { return None };
            What::Read { tid: pair(who).1, id, value, enabled_ns, running_ns }
        }
        MMAP2 => {
            let [process, start, length, offset, _device, _inode, _generation, _rights, ref path @ ..] =
                *body
            else {
                return None;
            };
            What::Mapped { pid: pair(process).0, start, length, offset, path: text(path, usize::MAX) }
        }
        LOST => What::Lost(*body.get(1)?),
        LOST_SAMPLES => What::Lost(*body.first()?),
        _ => What::Other,
    };
    Some(Record { at_ns, cpu, pid, tid, what })
}

fn switch(kind: u32, misc: u16, body: &[u64]) -> Option<What> {
    if misc & MISC_SWITCH_OUT == 0 {
        return Some(What::In);
    }
    let next = if kind == SWITCH_CPU_WIDE { Some(pair(*body.first()?)) } else { None };
    Some(What::Out { preempted: misc & MISC_SWITCH_OUT_PREEMPT != 0, next })
}

/// Text: `most` bytes, or up to the first zero.
fn text(words: &[u64], most: usize) -> String {
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0).take(most).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A record as the kernel writes it.
    pub(in super::super) fn written(kind: u32, misc: u16, body: &[u64], tail: [u64; 3]) -> Vec<u64> {
        let length = 1 + body.len() + tail.len();
        let first = u64::from(kind) | u64::from(misc) << 32 | (length as u64 * 8) << 48;
        [&[first], body, &tail].concat()
    }

    fn two(low: u32, high: u32) -> u64 {
        u64::from(low) | u64::from(high) << 32
    }

    #[test]
    fn every_kind_is_understood() {
        let tail = [two(70, 71), 5000, two(3, 0)];
        let name = u64::from_le_bytes(*b"worker\0x");
        for (words, what) in [
            (
                written(SWITCH_CPU_WIDE, MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT, &[two(80, 81)], tail),
                What::Out { preempted: true, next: Some((80, 81)) },
            ),
            (written(SWITCH, MISC_SWITCH_OUT, &[], tail), What::Out { preempted: false, next: None }),
            (written(SWITCH, 0, &[], tail), What::In),
            (
                written(COMM, MISC_COMM_EXEC, &[two(1, 2), name], tail),
                What::Comm { pid: 1, tid: 2, comm: "worker".into(), exec: true },
            ),
            (
                written(FORK, 0, &[two(9, 8), two(7, 6), 4000], tail),
                What::Fork { pid: 9, parent_pid: 8, tid: 7, parent_tid: 6 },
            ),
            (written(EXIT, 0, &[two(9, 8), two(7, 6), 4000], tail), What::Exit { pid: 9, tid: 7 }),
            (
                written(READ, 0, &[two(9, 7), 100, 50, 25, 42], tail),
                What::Read { tid: 7, id: 42, value: 100, enabled_ns: 50, running_ns: 25 },
            ),
            (
                written(MMAP2, 0, &[two(9, 7), 0x40_0000, 0x1000, 0x2000, 0, 0, 0, 5, name], tail),
                What::Mapped {
                    pid: 9,
                    start: 0x40_0000,
                    length: 0x1000,
                    offset: 0x2000,
                    path: "worker".into(),
                },
            ),
            (written(LOST, 0, &[42, 17], tail), What::Lost(17)),
            (written(LOST_SAMPLES, 0, &[18], tail), What::Lost(18)),
            (written(9, 0, &[1, 2, 3], tail), What::Other),
        ] {
            let found = parse(&words).unwrap();
            assert_eq!((found.at_ns, found.cpu, found.pid, found.tid), (5000, 3, 70, 71));
            assert_eq!(found.what, what);
        }
    }

    #[test]
    fn what_is_cut_is_nothing() {
        let tail = [two(70, 71), 5000, two(3, 0)];
        for (kind, body) in
            [(SWITCH_CPU_WIDE, 1), (COMM, 1), (FORK, 2), (EXIT, 2), (READ, 5), (MMAP2, 8), (LOST, 2)]
        {
            for length in 0..body {
                let words = written(kind, MISC_SWITCH_OUT, &[1, 2, 3, 4, 5, 6, 7, 8][..length], tail);
                assert_eq!(parse(&words), None, "kind {kind} with {length} words");
            }
        }
        let whole = written(SWITCH, 0, &[], tail);
        assert!((0..whole.len()).all(|length| parse(&whole[..length]).is_none()));
    }

    proptest! {
        #[test]
        fn nothing_panics(words in prop::collection::vec(any::<u64>(), 0..12), kind in 0_u32..20, right in any::<bool>()) {
            let mut words = words;
            let length = words.len() as u64 * 8;
            if let (true, Some(first)) = (right, words.first_mut()) {
                *first = u64::from(kind) | (*first & 0xffff_0000_0000) | length << 48;
            }
            parse(&words);
        }
    }
}
