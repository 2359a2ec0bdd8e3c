//! What a reader has to know before the figures, in words: the same ones in the terminal and on the page.

use super::wrap::paragraph;
use swtch_cost::Caveat;
use swtch_units::format_ns;

/// Differences between the Profile's machine and this one that are named.
const DIFFERENCES: usize = 2;

/// A note each, as lines for a terminal that begin with `head`, about a Profile by the name of `profile`.
pub(crate) fn notes<'a>(found: impl IntoIterator<Item = &'a Caveat>, head: &str, profile: &str) -> String {
    let words = found.into_iter().filter_map(|one| words(one, profile));
    words.map(|words| paragraph("", &format!("{head} {words}"), 2)).collect()
}

/// A caveat in words, about a Profile by the name of `profile`; the first sentence says what the matter is.
pub(crate) fn words(one: &Caveat, profile: &str) -> Option<String> {
    let percent = |share: &f64| format!("{:.0} %", 100.0 * share);
    Some(match one {
        Caveat::OneRun => "this is one run; another may make many times as many switches. 'swtch compare -- COMMAND' runs it several times.".to_owned(),
        Caveat::Stolen { stolen_ns, share } => format!(
            "the hypervisor took {} of the CPUs' time ({}), enough to explain the cost of the switches or the waits. Stolen time \
             counts as part of what it interrupts.",
            percent(share),
            format_ns(*stolen_ns)
        ),
        Caveat::EmulatedMachine => {
            "this machine was emulated, so times and costs are not those of hardware; counts of switches \
             hold."
                .to_owned()
        }
        Caveat::OtherPrograms { ran, of_waits, wait_ns } => {
            let ran = ran.map_or(String::new(), |ran| {
                format!("other programs ran for {} of the CPUs' time. ", percent(&ran))
            });
            format!(
                "{ran}The tasks waited {} for a CPU, {} of it behind programs that were not recorded.",
                format_ns(*wait_ns),
                percent(of_waits)
            )
        }
        Caveat::OtherMachine { differences } => {
            let shown: Vec<&str> = differences.iter().take(DIFFERENCES).map(String::as_str).collect();
            let more = match differences.len().saturating_sub(DIFFERENCES) {
                0 => String::new(),
                more => format!("; {more} more"),
            };
            format!(
                "{profile} is of another machine or another state of it ({}{more}), so its prices may be wrong here.",
                shown.join("; ")
            )
        }
        Caveat::EmulatedProfile => {
            format!("{profile} was measured on an emulated machine, so its times are not those of hardware.")
        }
        Caveat::DisturbedProfile { share } => format!(
            "other programs or the hypervisor took {} of the CPUs' time while {profile} was measured, so its figures may be too \
             high.",
            percent(share)
        ),
        _ => return None,
    })
}
