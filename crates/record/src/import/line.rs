//! A line of such a text, divided into task, CPU, time and event.

use super::Format;

/// Most CPUs a kernel can be built for (NR_CPUS, arch/x86/Kconfig, v6.18). It keeps a damaged number from filling the memory.
const MOST_CPUS: u32 = 8192;

/// What a line is.
#[derive(Debug, PartialEq)]
pub(super) enum Text<'a> {
    /// Nothing happened: a heading, a blank, a line of a call stack.
    Remark,
    /// The recorder says that it lost events on a CPU; how many, where it says so.
    Lost { cpu: u32, events: Option<u64> },
    /// An event.
    Event(ScriptLine<'a>),
    /// None of these.
    Malformed,
}

/// An event's line.
#[derive(Debug, PartialEq)]
pub(super) struct ScriptLine<'a> {
    pub(super) format: Format,
    /// The name of the task that ran, as the recorder wrote it.
    pub(super) comm: &'a str,
    pub(super) tid: u32,
    /// Its process, where the text says.
    pub(super) pid: Option<u32>,
    pub(super) cpu: u32,
    pub(super) at_ns: u64,
    /// An interrupt was being served; perf does not say.
    pub(super) in_interrupt: bool,
    /// The event's name, without its subsystem.
    pub(super) event: &'a str,
    /// What the event reports.
    pub(super) body: &'a str,
}

impl<'a> Text<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let text = line.trim();
        if let Some(line) = ScriptLine::of(text) {
            return Self::Event(line);
        }
        if let Some(lost) = lost(text) {
            return lost;
        }
        if is_remark(text) { Self::Remark } else { Self::Malformed }
    }
}

/// Headings of ftrace and trace-cmd, and lines of call stacks.
fn is_remark(text: &str) -> bool {
    let begins = ["#", "=>", "cpus=", "version =", "version=", "CPU "];
    if text.is_empty() || begins.iter().any(|start| text.starts_with(start)) {
        return true;
    }
    // `ffffffff81a3 schedule+0x2e ([kernel.kallsyms])`.
    let address = text.split_whitespace().next().unwrap_or_default();
    address.len() >= 4 && address.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `CPU:1 [LOST 12 EVENTS]` (kernel/trace/trace.c, v6.18), `CPU:1 [12 EVENTS DROPPED]` (trace-cmd); the number may be missing.
fn lost<'a>(text: &str) -> Option<Text<'a>> {
    let (cpu, rest) = text.strip_prefix("CPU:")?.split_once(" [")?;
    let rest = rest.strip_suffix("]")?;
    if !(rest.starts_with("LOST") || rest.ends_with("DROPPED")) {
        return None;
    }
    let cpu = cpu.parse().ok().filter(|cpu| *cpu < MOST_CPUS)?;
    Some(Text::Lost { cpu, events: rest.split(' ').find_map(|word| word.parse().ok()) })
}

impl<'a> ScriptLine<'a> {
    /// A task's name may hold anything, brackets too; only a CPU's are followed by a time.
    fn of(text: &'a str) -> Option<Self> {
        text.match_indices('[').find_map(|(open, _)| Self::at(text, open))
    }

    /// When the bracket at `open` is that of the CPU.
    fn at(text: &'a str, open: usize) -> Option<Self> {
        let (cpu, rest) = text[open + 1..].split_once(']')?;
        let cpu = digits(cpu)?.parse().ok().filter(|cpu| *cpu < MOST_CPUS)?;
        let (first, rest) = word(rest);
        let (flags, at_ns, rest) = if let Some(at_ns) = time_ns(first) {
            ("", at_ns, rest)
        } else {
            let (second, rest) = word(rest);
            (first, time_ns(second)?, rest)
        };
        let (mut event, mut body) = word(rest);
        if digits(event).is_some() {
            // perf's count of the event.
            (event, body) = word(body);
        }
        let event = event.strip_suffix(':')?;
        let event = event.rsplit(':').next().filter(|name| !name.is_empty())?;
        let (format, comm, tid, pid) = who(text[..open].trim_end())?;
        // Documentation/trace/ftrace.rst (v6.18): irqs-off, need-resched, hardirq/softirq, preempt-depth.
        let in_interrupt = flags.as_bytes().get(2).is_some_and(|flag| b"hHsZz".contains(flag));
        Some(Self { format, comm, tid, pid, cpu, at_ns, in_interrupt, event, body: body.trim() })
    }
}

/// `make 12` and `make 11/12` are perf's, `make-12` and `make-12 ( 11)` ftrace's.
fn who(text: &str) -> Option<(Format, &str, u32, Option<u32>)> {
    let (text, pid) = match text.strip_suffix(')').and_then(|text| text.rsplit_once('(')) {
        // `(-----)` when it is not known.
        Some((ahead, pid)) => (ahead.trim_end(), pid.trim().parse().ok()),
        None => (text, None),
    };
    let (ahead, tid) = trailing_number(text)?;
    if let Some(comm) = ahead.strip_suffix('-') {
        return Some((Format::Ftrace, comm.trim(), tid, pid));
    }
    if let Some((ahead, pid)) = ahead.strip_suffix('/').and_then(trailing_number) {
        return Some((Format::PerfScript, ahead.trim(), tid, Some(pid)));
    }
    ahead.ends_with(char::is_whitespace).then(|| (Format::PerfScript, ahead.trim(), tid, pid))
}

fn trailing_number(text: &str) -> Option<(&str, u32)> {
    let ahead = text.trim_end_matches(|sign: char| sign.is_ascii_digit());
    Some((ahead, text[ahead.len()..].parse().ok()?))
}

/// The first word and what follows it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

fn digits(text: &str) -> Option<&str> {
    let all = !text.is_empty() && text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then_some(text)
}

/// `12.345678:` or `12.345678901:`.
fn time_ns(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.strip_suffix(':')?.split_once('.')?;
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(seconds) || !are_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let fraction_ns = fraction.parse::<u64>().ok()? * 10_u64.pow(9 - fraction.len() as u32);
    // Far more than any machine was up; sums of such times still fit.
    seconds
        .parse::<u64>()
        .ok()
        .filter(|seconds| *seconds < 1 << 33)
        .map(|seconds| seconds * 1_000_000_000 + fraction_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> ScriptLine<'_> {
        match Text::of(text) {
            Text::Event(line) => line,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn perf_writes_name_number_cpu_time() {
        let found =
            line("       opt cgu.06 23641 [000]  4819.770578:       sched:sched_switch: prev_comm=a b");
        assert_eq!(
            (found.format, found.comm, found.tid, found.pid),
            (Format::PerfScript, "opt cgu.06", 23641, None)
        );
        assert_eq!((found.cpu, found.at_ns, found.event), (0, 4_819_770_578_000, "sched_switch"));
        assert_eq!(found.body, "prev_comm=a b");
        let found = line("  a-7 [3] x 11/12 [012] 1.5:   1 cycles: ");
        assert_eq!((found.comm, found.tid, found.pid, found.cpu), ("a-7 [3] x", 12, Some(11), 12));
        assert_eq!((found.at_ns, found.event), (1_500_000_000, "cycles"));
    }

    #[test]
    fn ftrace_writes_flags_and_perhaps_the_process() {
        let found = line("          <idle>-0     [001] d.h2.   123.456789: sched_waking: comm=x pid=1");
        assert_eq!(
            (found.format, found.comm, found.tid, found.in_interrupt),
            (Format::Ftrace, "<idle>", 0, true)
        );
        let found = line(" a-b-24382   (  24381) [001] d..2.  4852.498459: sched_wakeup_new: comm=a");
        assert_eq!(
            (found.comm, found.tid, found.pid, found.in_interrupt),
            ("a-b", 24382, Some(24381), false)
        );
        let found = line(" a-24382   (-------) [001] 4852.498459123: sched_wakeup_new: comm=a");
        assert_eq!((found.pid, found.at_ns), (None, 4_852_498_459_123));
    }

    #[test]
    fn what_is_no_event_is_told_from_what_is_broken() {
        for remark in [
            "",
            "# tracer: nop",
            "cpus=2",
            "CPU 1 is empty",
            "=> schedule",
            "\tffffffff81a3 schedule+0x2e ([k])",
        ] {
            assert_eq!(Text::of(remark), Text::Remark, "{remark}");
        }
        assert_eq!(Text::of("CPU:3 [LOST 12 EVENTS]"), Text::Lost { cpu: 3, events: Some(12) });
        assert_eq!(Text::of("CPU:3 [EVENTS DROPPED]"), Text::Lost { cpu: 3, events: None });
        for broken in [
            "make 12 [000] 1.2",
            "make 12 [000] 1,2: a: b",
            "make [000] 1.2: a: b",
            "x 1 [9999] 1.2: a: b",
            "[000]",
        ] {
            assert_eq!(Text::of(broken), Text::Malformed, "{broken}");
        }
    }
}
