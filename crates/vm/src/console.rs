//! What the guest's kernel said on its console: for people, and to tell how a guest ended that can no longer tell it.

use std::collections::VecDeque;

/// Lines that are remembered.
const KEPT_LINES: usize = 200;
/// Longer lines are cut; a console that sends no line ends must not fill memory.
const LONGEST_LINE_BYTES: usize = 2048;
/// How the kernel's panic begins (kernel/panic.c).
const PANIC: &str = "Kernel panic - not syncing";
/// What the kernel says when it kills a process for want of memory (mm/oom_kill.c); more may follow it.
const KILLED: &str = "Killed process";
/// Lines that an error message quotes.
const QUOTED_LINES: usize = 3;

/// The last lines of a console.
#[derive(Debug, Default)]
pub(crate) struct Console {
    lines: VecDeque<String>,
    unfinished: Vec<u8>,
    panic: Option<String>,
    killed: Option<String>,
}

impl Console {
    /// Takes more of it; returns the lines that are complete now.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut complete = Vec::new();
        for byte in bytes {
            if *byte == b'\n' || self.unfinished.len() >= LONGEST_LINE_BYTES {
                complete.extend(self.finish());
            } else {
                self.unfinished.push(*byte);
            }
        }
        complete
    }

    fn finish(&mut self) -> Option<String> {
        let line = readable(&std::mem::take(&mut self.unfinished));
        if line.is_empty() {
            return None;
        }
        if self.panic.is_none()
            && let Some(at) = line.find(PANIC)
        {
            self.panic = Some(line[at..].to_owned());
        }
        if line.contains(KILLED) {
            self.killed = Some(line.clone());
        }
        self.lines.push_back(line.clone());
        if self.lines.len() > KEPT_LINES {
            self.lines.pop_front();
        }
        Some(line)
    }

    /// The kernel's panic, in its own words.
    pub(crate) fn panic(&self) -> Option<&str> {
        self.panic.as_deref()
    }

    /// The last lines on one, behind a colon, the last process that the kernel killed among them; nothing where there are none.
    pub(crate) fn quoted(&self) -> String {
        let unfinished = readable(&self.unfinished);
        let lines = self.lines.iter().map(String::as_str).chain([unfinished.as_str()]);
        let last: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let last = &last[last.len().saturating_sub(QUOTED_LINES)..];
        let killed = self.killed.as_deref().filter(|killed| !last.contains(killed));
        let last: Vec<&str> = killed.into_iter().chain(last.iter().copied()).collect();
        if last.is_empty() {
            String::new()
        } else {
            format!("; its kernel's last messages: {}", last.join(" | "))
        }
    }
}

/// Without what moves a terminal's cursor.
fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|letter| !letter.is_control()).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_process_is_quoted_whatever_follows_it() {
        let mut console = Console::default();
        console.push(b"Out of memory: Killed process 7 (sh)\n");
        assert_eq!(console.quoted().matches("Killed process 7").count(), 1);
        console.push(b"one\ntwo\nthree\nfour\n");
        let quoted = console.quoted();
        assert!(quoted.ends_with("Out of memory: Killed process 7 (sh) | two | three | four"), "{quoted}");
    }

    #[test]
    fn lines_come_in_pieces() {
        let mut console = Console::default();
        assert_eq!(console.push(b"[ 1.0] on"), Vec::<String>::new());
        assert_eq!(console.push(b"e\r\n\n[ 2.0] two\n[ 3"), ["[ 1.0] one", "[ 2.0] two"]);
        assert!(console.quoted().ends_with(": [ 1.0] one | [ 2.0] two | [ 3"), "{}", console.quoted());
    }

    #[test]
    fn a_panic_is_remembered_whatever_follows() {
        let mut console = Console::default();
        assert_eq!((console.panic(), console.quoted().as_str()), (None, ""));
        console.push(b"[ 6.1] Kernel panic - not syncing: sysrq triggered crash\n");
        for _ in 0..2 * KEPT_LINES {
            console.push(b"[ 6.2] Call trace\n");
        }
        assert_eq!(console.panic(), Some("Kernel panic - not syncing: sysrq triggered crash"));
        assert_eq!(console.lines.len(), KEPT_LINES);
    }

    #[test]
    fn endless_lines_are_cut() {
        let mut console = Console::default();
        console.push(&vec![b'x'; 10 * LONGEST_LINE_BYTES]);
        assert!(console.unfinished.len() <= LONGEST_LINE_BYTES);
    }
}
