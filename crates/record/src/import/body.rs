//! What an event reports. It is include/trace/events/sched.h (v6.18) as the kernel prints it. Or it is in the short forms of
//! libtraceevent's plugins (plugin_sched_switch.c, version 1.8), which perf and trace-cmd use where they are installed.

use swtch_trace::event::PrevState;

/// Longest name of a task, in bytes. The kernel's have at most 15, and a byte that is not UTF-8 became three.
const MOST_COMM_BYTES: usize = 48;

/// A task as an event names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub(super) comm: &'a str,
    pub(super) tid: u32,
}

/// What an event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParsedRecord<'a> {
    Switch {
        prev: Named<'a>,
        state: PrevState,
        preempted: bool,
        next: Named<'a>,
    },
    /// A wake-up begins. The running task is the waker.
    Waking(Named<'a>),
    /// The wake-up is done, perhaps on another CPU.
    Wakeup(Named<'a>),
    WakeupNew(Named<'a>),
    Fork {
        parent: Named<'a>,
        child: Named<'a>,
    },
    Exec {
        tid: u32,
    },
    /// `last`: no thread of its process is left; absent where the text does not say so.
    Exit {
        task: Named<'a>,
        last: Option<bool>,
    },
    /// It adds nothing to a Trace.
    Other,
}

impl<'a> ParsedRecord<'a> {
    /// `None` when an event of that name does not look like this.
    pub(super) fn of(event: &str, body: &'a str) -> Option<Self> {
        match event {
            "sched_switch" => switch(body),
            "sched_waking" => task(body).map(Self::Waking),
            "sched_wakeup" => task(body).map(Self::Wakeup),
            "sched_wakeup_new" => task(body).map(Self::WakeupNew),
            "sched_process_fork" => fork(body),
            "sched_process_exec" => Some(Self::Exec { tid: number_after(body, " pid=")? }),
            "sched_process_exit" => exit(body),
            _ => Some(Self::Other),
        }
    }
}

fn switch(body: &str) -> Option<ParsedRecord<'_>> {
    let (left, right) = body.rsplit_once(" ==> ")?;
    let Some(rest) = left.strip_prefix("prev_comm=") else {
        // `a:12 [120] S`.
        let (prev, state) = left.rsplit_once(' ')?;
        let (state, preempted) = prev_state(state)?;
        return Some(ParsedRecord::Switch { prev: short(prev)?, state, preempted, next: short(right)? });
    };
    let (prev, rest) = rest.rsplit_once(" prev_pid=")?;
    let (state, preempted) = prev_state(rest.rsplit_once(" prev_state=")?.1)?;
    let (next, next_tid) = right.strip_prefix("next_comm=")?.rsplit_once(" next_pid=")?;
    Some(ParsedRecord::Switch {
        prev: named(prev, leading_number(rest)?)?,
        state,
        preempted,
        next: named(next, leading_number(next_tid)?)?,
    })
}

/// `comm=a pid=12 prio=120 target_cpu=000`, or `a:12 [120] CPU:000`, or `a:12 [120] success=1 CPU:000`.
fn task(body: &str) -> Option<Named<'_>> {
    let Some(rest) = body.strip_prefix("comm=") else {
        return short(&body[..=body.rfind(']')?]);
    };
    let (comm, rest) = rest.rsplit_once(" pid=")?;
    named(comm, leading_number(rest)?)
}

/// `a:12 [120]`.
fn short(text: &str) -> Option<Named<'_>> {
    let (task, prio) = text.trim_end().rsplit_once(" [")?;
    prio.strip_suffix(']')?.parse::<i32>().ok()?;
    let (comm, tid) = task.rsplit_once(':')?;
    named(comm, tid.parse().ok()?)
}

/// `comm=a pid=12 child_comm=b child_pid=13`.
fn fork(body: &str) -> Option<ParsedRecord<'_>> {
    let (parent, child) = body.rsplit_once(" child_comm=")?;
    let (parent, parent_tid) = parent.strip_prefix("comm=")?.rsplit_once(" pid=")?;
    let (child, child_tid) = child.rsplit_once(" child_pid=")?;
    Some(ParsedRecord::Fork {
        parent: named(parent, leading_number(parent_tid)?)?,
        child: named(child, leading_number(child_tid)?)?,
    })
}

/// `comm=a pid=12 prio=120`; since Linux 6.16 with `group_dead=true` behind.
fn exit(body: &str) -> Option<ParsedRecord<'_>> {
    let last = body.rsplit_once(" group_dead=").and_then(|(_, last)| match last.trim_end() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    });
    Some(ParsedRecord::Exit { task: task(body)?, last })
}

/// Letters of `task_state_array` (fs/proc/array.c, v6.18), several joined by `|`; a `+` behind says that it was preempted.
fn prev_state(text: &str) -> Option<(PrevState, bool)> {
    let text = text.trim();
    let preempted = text.ends_with('+');
    let letters = text.trim_end_matches('+');
    if letters.is_empty() || !letters.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'|') {
        return None;
    }
    let has = |these: &[char]| letters.contains(these);
    let state = if has(&['X', 'Z', 'x']) {
        PrevState::Dead
    } else if has(&['D', 'I']) {
        // An idle kernel thread waits like a disk's does; it only is not counted as load.
        PrevState::Uninterruptible
    } else if has(&['S']) {
        PrevState::Sleeping
    } else if letters == "R" {
        PrevState::Runnable
    } else {
        PrevState::Other
    };
    Some((state, preempted))
}

fn named(comm: &str, tid: u32) -> Option<Named<'_>> {
    (comm.len() <= MOST_COMM_BYTES).then_some(Named { comm, tid })
}

fn leading_number(text: &str) -> Option<u32> {
    let rest = text.trim_start_matches(|sign: char| sign.is_ascii_digit());
    text[..text.len() - rest.len()].parse().ok()
}

fn number_after(text: &str, key: &str) -> Option<u32> {
    leading_number(text.rsplit_once(key)?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switched(body: &str) -> (&str, u32, PrevState, bool, &str, u32) {
        match ParsedRecord::of("sched_switch", body) {
            Some(ParsedRecord::Switch { prev, state, preempted, next }) => {
                (prev.comm, prev.tid, state, preempted, next.comm, next.tid)
            }
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn both_forms_of_a_switch_are_read() {
        let long = "prev_comm=a b prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=swapper/0 next_pid=0 next_prio=120";
        assert_eq!(switched(long), ("a b", 12, PrevState::Runnable, true, "swapper/0", 0));
        assert_eq!(
            switched("a b:12 [120] D|K ==> c:d:7 [-1]"),
            ("a b", 12, PrevState::Uninterruptible, false, "c:d", 7)
        );
        for (letter, state) in [
            ("S", PrevState::Sleeping),
            ("X", PrevState::Dead),
            ("Z", PrevState::Dead),
            ("I", PrevState::Uninterruptible),
            ("t", PrevState::Other),
            ("R", PrevState::Runnable),
        ] {
            assert_eq!(switched(&format!("a:1 [120] {letter} ==> b:2 [120]")).2, state, "{letter}");
        }
    }

    #[test]
    fn all_forms_of_a_wake_up_are_read() {
        let a = Named { comm: "a b", tid: 12 };
        for body in [
            "comm=a b pid=12 prio=120 target_cpu=000",
            "comm=a b pid=12 prio=120 success=1 target_cpu=000",
            "a b:12 [120] CPU:000",
            "a b:12 [120] success=1 CPU:000",
            "a b:12 [120]<CPU:000>",
        ] {
            assert_eq!(ParsedRecord::of("sched_wakeup", body), Some(ParsedRecord::Wakeup(a)), "{body}");
        }
        assert_eq!(
            ParsedRecord::of("sched_process_exit", "comm=a b pid=12 prio=120 group_dead=true"),
            Some(ParsedRecord::Exit { task: a, last: Some(true) })
        );
        assert_eq!(
            ParsedRecord::of("sched_process_exec", "filename=/bin/a pid=4 pid=12 old_pid=12"),
            Some(ParsedRecord::Exec { tid: 12 })
        );
        let b = Named { comm: "b", tid: 13 };
        assert_eq!(
            ParsedRecord::of("sched_process_fork", "comm=a b pid=12 child_comm=b child_pid=13"),
            Some(ParsedRecord::Fork { parent: a, child: b })
        );
    }

    #[test]
    fn what_is_cut_off_is_not_made_up() {
        let whole =
            "prev_comm=a prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=b next_pid=7 next_prio=120";
        for end in 0..whole.len() - " next_prio=120".len() - 1 {
            assert_eq!(ParsedRecord::of("sched_switch", &whole[..end]), None, "{}", &whole[..end]);
        }
        assert_eq!(ParsedRecord::of("sched_switch", "a:99999999999 [120] S ==> b:1 [120]"), None);
        assert_eq!(ParsedRecord::of("sched_waking", "comm= pid="), None);
        assert_eq!(ParsedRecord::of("sched_migrate_task", "anything"), Some(ParsedRecord::Other));
    }
}
