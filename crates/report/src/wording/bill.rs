//! A bill in words.

use super::text::three_digits;
use super::{caveats, waits};
use crate::recording::Summary;
use swtch_cost::{Advice, Bill, Cause, CauseKind, Caveat, InPlace, IndirectFrom, Money, Range};
use swtch_trace::model::{ProbedRefill, Scope};
use swtch_units::{Bytes, format_ns, utc};

/// The answer: what spoils the recording, the cost of switches and the waits of tasks, the worse of the two first. Then what else a reader
/// has to know.
pub(crate) fn answer(summary: &Summary<'_>) -> String {
    let (spoils, others): (Vec<&Caveat>, Vec<&Caveat>) =
        summary.caveats.iter().partition(|caveat| caveat.spoils());
    let (switches, bill) = (switches(summary), summary.bill);
    let waited = bill
        .waits
        .as_ref()
        .map_or(String::new(), |found| waits::headline(found, summary.trace.header.duration_ns));
    let waits_first = bill.waits.as_ref().is_some_and(|waits| waits.are_worse_than(bill.direct_ns));
    let figures = if waits_first { [waited, switches] } else { [switches, waited] };
    let notes = |found, head: &str| caveats::notes(found, head, "the Profile");
    format!("{}{}{}", notes(spoils, "This recording is spoiled:"), figures.concat(), notes(others, "Note:"))
}

/// The sentence that says what the switches cost.
fn switches(summary: &Summary<'_>) -> String {
    let Bill { share, direct_ns, indirect_ns, indirect_from, switch_ns, measured_in_place, money, .. } =
        summary.bill;
    let whose = match &summary.trace.header.scope {
        Scope::Command { .. } => "this command's CPU time",
        Scope::Processes { .. } => "these processes' CPU time",
        Scope::Cgroup { .. } => "this cgroup's CPU time",
        Scope::Machine => "all tasks' CPU time",
    };
    let (Some(share), Some(direct), Some(switch)) = (share, direct_ns, switch_ns) else {
        return "The cost of the context switches is not known: nothing measured it, and there is no Profile to price them.\n"
            .to_owned();
    };
    let how = match measured_in_place {
        false => "each, by the Profile",
        true if direct.low < direct.high => {
            "each: as measured in the scheduler, and with the wake-up and slow-down after it"
        }
        true => "each, measured where they happened",
    };
    let mut text = format!(
        "Context switches took {} of {whose}:\n{} in the switches themselves ({} {how})",
        percent_range(*share),
        ns_range(*direct),
        ns_range(*switch),
    );
    text.push_str(&summary.bill.in_place.map_or_else(String::new, in_place_text));
    match indirect_ns {
        Some(indirect) => {
            let probed = summary.trace.header.probed.as_ref();
            let by = indirect_from.map_or(String::new(), |from| format!(", {}", bounded_by(from, probed)));
            text.push_str(&format!(",\nand {} in refilling caches after them{by}.\n", at_most(*indirect)));
        }
        None => {
            text.push_str(";\nwhat refilling caches after them took is not known without a Profile.\n");
        }
    }
    if let Some(money) = money {
        text.push_str(&money_text(money));
    }
    text
}

/// The evidence of an advice, what to try, its present cost, and what is known of the saving.
pub(crate) fn reasons(one: &Advice) -> String {
    let cost =
        one.cost.map_or(String::new(), |cost| format!(" It took {} of the CPU time.", percent_range(cost)));
    format!("{}. Try: {}.{cost} {}.", one.evidence, one.try_this, one.saving)
}

/// A cause with its share and its largest pair.
pub(crate) fn cause_text(cause: &Cause) -> String {
    // A part is not rounded to the whole.
    let percent = match 100.0 * cause.share {
        most if most > 99.0 && most < 100.0 => "more than 99 %".to_owned(),
        least if least > 0.0 && least < 1.0 => "less than 1 %".to_owned(),
        between => format!("{between:.0} %"),
    };
    let pair = |between: &str| match &cause.who[..] {
        [one, other] => format!(" (most: {one} {between} {other})"),
        _ => String::new(),
    };
    match cause.kind {
        CauseKind::ThreadsWakeEachOther => {
            format!("{percent} of the switches: threads of one process wait for each other{}", pair("wakes"))
        }
        CauseKind::ProcessesWakeEachOther => {
            format!("{percent} of the switches: processes wait for each other{}", pair("wakes"))
        }
        CauseKind::Interrupts => {
            format!("{percent} of the switches: waiting for timers, devices or the network")
        }
        CauseKind::Preemption => format!("{percent} of the switches: preemption{}", pair("preempts")),
    }
}

/// The median, and the outliers, which do not count as prices.
fn in_place_text(measured: InPlace) -> String {
    let median = format!(",\nthe median switch {}", format_ns(measured.median_ns));
    if measured.outliers == 0 {
        return median;
    }
    format!(
        "{median}; outliers: {} in {} of the switches, which were interrupted or\ntook more than 20 medians, as when a hypervisor takes the CPU; each counts as the median",
        format_ns(measured.outliers_ns),
        measured.outliers,
    )
}

/// Of the run, and of a month where it goes on.
fn money_text(money: &Money) -> String {
    let recording = money.recording.words(three_digits);
    let run = format!("At {} a vCPU-hour this run's switches cost {recording}", money.per_vcpu_hour);
    match money.month {
        Some(month) => format!("{run}; {} a month, if it goes on like this.\n", month.words(three_digits)),
        None => format!("{run}.\n"),
    }
}

/// A share from the least to the most, as the answer gives it.
pub(crate) fn percent_range(share: Range) -> String {
    let text = |share: f64| {
        if share < 0.0995 { format!("{:.2}", 100.0 * share) } else { format!("{:.1}", 100.0 * share) }
    };
    format!("{} %", share.words(text))
}

/// What the most is made of.
fn bounded_by(from: IndirectFrom, probed: Option<&ProbedRefill>) -> String {
    let words = match from {
        IndirectFrom::WorkingSet => "by the memory used between two switches",
        IndirectFrom::CacheMisses => "by the cache misses counted",
        IndirectFrom::SliceLength => "by the time between two switches",
        IndirectFrom::Probe => {
            return probed.map_or(String::new(), |probed| {
                let [year, month, day, ..] = utc(probed.started_unix_s);
                let displaced = Bytes::new(probed.displaced_bytes);
                format!(
                    "by a probe of {} on {year}-{month:02}-{day:02} that displaced {displaced}",
                    probed.program
                )
            });
        }
    };
    words.to_owned()
}

pub(crate) fn ns_range(range: Range) -> String {
    range.words(format_ns)
}

fn at_most(range: Range) -> String {
    if range.low > 0.0 { ns_range(range) } else { format!("at most {}", format_ns(range.high)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_collapse_when_both_ends_read_alike() {
        assert_eq!(percent_range(Range { low: 0.031, high: 0.049 }), "3.10 to 4.90 %");
        assert_eq!(percent_range(Range::exactly(0.25)), "25.0 %");
        assert_eq!(ns_range(Range { low: 1200.0, high: 1200.4 }), "1.20 µs");
        assert_eq!(at_most(Range { low: 0.0, high: 5e6 }), "at most 5.00 ms");
    }
}
