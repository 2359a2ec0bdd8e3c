//! What the kernel writes in its log about sched_ext: the only account of an end whose program is gone.

use rustix::fs::{Mode, OFlags, SeekFrom, open, seek};
use rustix::io::read;
use std::os::fd::OwnedFd;

/// The longest record (`PRINTK_MESSAGE_MAX` in the kernel's kernel/printk).
const RECORD_BYTES: usize = 8192;
const TOPIC: &str = "sched_ext:";

/// The kernel's log from now on; empty where it may not be read.
#[derive(Debug)]
pub(crate) struct KernelLog(Option<OwnedFd>);

impl KernelLog {
    /// Begins to listen.
    pub(crate) fn from_now() -> Self {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let log = open("/dev/kmsg", flags, Mode::empty()).ok();
        Self(log.filter(|log| seek(log, SeekFrom::End(0)).is_ok()))
    }

    /// The last line about sched_ext since then.
    pub(crate) fn last_line(&self) -> Option<String> {
        let log = self.0.as_ref()?;
        let mut last = None;
        let mut record = [0; RECORD_BYTES];
        loop {
            match read(log, &mut record) {
                Ok(0) => return last,
                Ok(length) => {
                    let text = String::from_utf8_lossy(&record[..length]);
                    last = message(&text).or(last);
                }
                // Records were overwritten before they were read: what is left follows.
                Err(rustix::io::Errno::PIPE) => {}
                Err(_) => return last,
            }
        }
    }
}

/// The text of a record about sched_ext: `PRIORITY,NUMBER,TIME,FLAGS;TEXT`.
fn message(record: &str) -> Option<String> {
    let text = record.lines().next()?.split_once(';')?.1;
    Some(text.strip_prefix(TOPIC)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_about_sched_ext_count() {
        let record =
            "4,901,6123456,-;sched_ext: BPF scheduler \"flsched\" disabled (unregistered from user space)\n";
        assert_eq!(
            message(record).as_deref(),
            Some("BPF scheduler \"flsched\" disabled (unregistered from user space)")
        );
        assert_eq!(message("6,1,2,-;random: crng init done\n SUBSYSTEM=x\n"), None);
        assert_eq!(message("damaged"), None);
    }

    #[test]
    fn a_log_that_says_nothing_or_cannot_be_read_is_empty() {
        assert_eq!(KernelLog::from_now().last_line(), None);
        assert_eq!(KernelLog(None).last_line(), None);
    }
}
