//! The four files of a thread (fs/proc/array.c, fs/proc/base.c and kernel/sched/debug.c, Linux 6.18), from raw bytes: they are
//! read for every thread at every sample.

/// What is used of `/proc/PID/task/TID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat<'a> {
    pub(crate) comm: &'a [u8],
    pub(crate) state: u8,
    pub(crate) parent_pid: u32,
    pub(crate) flags: u64,
    pub(crate) user_ticks: u64,
    pub(crate) system_ticks: u64,
    pub(crate) threads: u64,
    pub(crate) started_ticks: u64,
    /// Of the whole process; missing where a sandbox ends the line early.
    pub(crate) resident_pages: Option<u64>,
}

/// A flag of a kernel thread (`PF_KTHREAD`, include/linux/sched.h, v6.18).
const KERNEL_THREAD: u64 = 0x0020_0000;

impl Stat<'_> {
    /// Whether it is one of the kernel's own.
    pub(crate) fn is_kernel_thread(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
    }

    /// Whether it has ended, and at most waits to be collected.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// `TID (comm) STATE PPID ...`. The name may hold anything, brackets and line breaks too, so the last bracket ends it.
pub(crate) fn stat(text: &[u8]) -> Option<Stat<'_>> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let comm = text.get(open + 1..close)?;
    let mut fields = fields(text.get(close + 1..)?);
    // Fields are numbered as in proc_pid_stat(5); the state is number 3.
    let state = *fields.next()?.first()?;
    let mut number = 3;
    let mut at = |wanted: usize| {
        let field = fields.nth(wanted - number - 1);
        number = wanted;
        self::number(field?)
    };
    Some(Stat {
        comm,
        state,
        parent_pid: at(4)? as u32,
        flags: at(9)?,
        user_ticks: at(14)?,
        system_ticks: at(15)?,
        threads: at(20)?,
        started_ticks: at(22)?,
        resident_pages: at(24),
    })
}

/// What is used of `/proc/PID/task/TID/schedstat`: `RUN_NS WAIT_NS TIMESLICES`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Schedstat {
    pub(crate) run_ns: u64,
    pub(crate) wait_ns: u64,
    pub(crate) timeslices: u64,
}

pub(crate) fn schedstat(text: &[u8]) -> Option<Schedstat> {
    let mut numbers = fields(text).map(number);
    let mut next = || numbers.next().flatten();
    Some(Schedstat { run_ns: next()?, wait_ns: next()?, timeslices: next()? })
}

/// Switches, and migrations where the file has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Switches {
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    pub(crate) migrations: Option<u64>,
}

/// `/proc/PID/task/TID/sched`: `se.nr_migrations   :    12` a line.
pub(crate) fn sched(text: &[u8]) -> Option<Switches> {
    let (mut voluntary, mut involuntary, mut migrations) = (None, None, None);
    for (name, value) in text.split(|byte| *byte == b'\n').filter_map(|line| split_at_colon(line)) {
        match name {
            b"nr_voluntary_switches" => voluntary = number(value),
            b"nr_involuntary_switches" => involuntary = number(value),
            b"se.nr_migrations" => migrations = number(value),
            _ => {}
        }
    }
    Some(Switches { voluntary: voluntary?, involuntary: involuntary?, migrations })
}

/// `/proc/PID/task/TID/status`: `voluntary_ctxt_switches: 12` a line, last of all.
pub(crate) fn status(text: &[u8]) -> Option<Switches> {
    Some(Switches {
        voluntary: status_number(text, b"voluntary_ctxt_switches")?,
        involuntary: status_number(text, b"nonvoluntary_ctxt_switches")?,
        migrations: None,
    })
}

/// A number of `status`, by its name.
pub(crate) fn status_number(text: &[u8], name: &[u8]) -> Option<u64> {
    let mut lines = text.split(|byte| *byte == b'\n').rev().filter_map(|line| split_at_colon(line));
    lines.find(|(found, _)| *found == name).and_then(|(_, value)| number(value))
}

fn split_at_colon(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((line[..colon].trim_ascii(), line.get(colon + 1..)?))
}

fn fields(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// A decimal number, blanks around it allowed; nothing when it is too large or no number.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    let digits = text.trim_ascii();
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "21759 (cat) R 21748 21748 10679 0 -1 4194304 98 7 3 0 5 6 0 0 20 0 2 0 63240 3133440 359 \
        18446744073709551615 94179128070144 94179128090025 140728346357616 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0\n";

    #[test]
    fn a_thread_as_linux_6_18_shows_it() {
        let found = stat(STAT.as_bytes()).unwrap();
        assert_eq!((found.comm, found.state, found.parent_pid), (&b"cat"[..], b'R', 21748));
        assert_eq!((found.user_ticks, found.system_ticks), (5, 6));
        assert_eq!((found.threads, found.started_ticks), (2, 63240));
        assert_eq!(
            schedstat(b"903061 12345 7\n"),
            Some(Schedstat { run_ns: 903_061, wait_ns: 12_345, timeslices: 7 })
        );
    }

    #[test]
    fn a_name_may_hold_brackets_blanks_and_line_breaks() {
        let text = STAT.replace("(cat)", "(a) R (\n) b)");
        assert_eq!(stat(text.as_bytes()).unwrap().comm, b"a) R (\n) b");
        assert_eq!(stat(text.as_bytes()).unwrap().parent_pid, 21748);
    }

    #[test]
    fn switches_from_either_file() {
        let text = b"cat (21761, #threads: 1)\n---\nse.nr_migrations   :      4\nnr_switches  :   7\n\
            nr_voluntary_switches  :   5\nnr_involuntary_switches  :   2\n";
        assert_eq!(sched(text), Some(Switches { voluntary: 5, involuntary: 2, migrations: Some(4) }));
        let text = b"Name:\tx\nTgid:\t12\nvoluntary_ctxt_switches:\t50\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(status(text), Some(Switches { voluntary: 50, involuntary: 3, migrations: None }));
        assert_eq!(status_number(text, b"Tgid"), Some(12));
        assert_eq!(status(b"Name:\tx\n"), None, "a sandbox may leave them out");
    }

    #[test]
    fn what_is_cut_off_is_nothing() {
        assert_eq!(stat(&STAT.as_bytes()[..60]), None);
        assert_eq!(stat(b""), None);
        assert_eq!(stat(b") ("), None);
        assert_eq!(schedstat(b"1 2"), None);
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b" 18446744073709551615\n"), Some(u64::MAX));
        // Sandboxes end the line early.
        let short = STAT.split(' ').take(30).collect::<Vec<_>>().join(" ");
        assert_eq!(stat(short.as_bytes()).unwrap().started_ticks, 63240);
    }

    proptest! {
        #[test]
        fn any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (stat(&bytes), schedstat(&bytes), sched(&bytes), status(&bytes));
            let _ = stat(&[b"1 (x) ", &bytes[..]].concat());
        }

        #[test]
        fn digits_and_blanks_do_not_panic(text in "[0-9 ():\\n-]{0,200}") {
            let _ = (stat(text.as_bytes()), schedstat(text.as_bytes()), sched(text.as_bytes()));
        }
    }
}
