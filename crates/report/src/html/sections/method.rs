//! How the figures come about, in plain words.

use super::Profiles;
use crate::html::prelude::*;

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "Noise on a computer is one-sided: nothing makes a switch faster than the machine allows, and much makes it \
         slower. So each figure is given twice, as it was met and as it would be undisturbed.";
    Section::new("method", "How it was measured", intro)
        .put([Block::Definitions {
        items: vec![
            Definition::new(
                "Batches and their baseline",
                "A batch repeats one thing many times and divides its time by the count. Each batch with \
                 switches is paired with one of the same system calls without, run next to it. A slow phase \
                 of the machine inflates both.",
            ),
            Definition::new(
                "Median and interval",
                "Half of the batches were cheaper than the median. Its 95\u{a0}% interval lies between two of the ordered \
                 batches and so assumes no shape of the distribution.",
            ),
            Definition::new("Undisturbed", low_quantile(subjects)),
            Definition::new(
                "Launches",
                "Every launch is a fresh process with its own pages and pipes. Where memory happens to lie changes \
                 the cost, so figures from one launch alone would claim too much.",
            ),
            Definition::new(
                "Switches are counted",
                "A figure is divided by the switches the kernel counted, not by those the method should make.",
            ),
            Definition::new(
                "Left out, not lost",
                "A batch that something disturbed does not enter the estimates; how many and why is stated above. A \
                 figure at or below zero is flagged, never set to zero.",
            ),
        ],
    }])
        .heading("Sources")
        .say(
        "Direct and total cost by two pipes: C. Li, C. Ding, K. Shen, “Quantifying the cost of context switch”, ExpCS \
         2007. The ring of processes: L. McVoy, C. Staelin, “lmbench: portable tools for performance analysis”, USENIX \
         1996. Pipes as a measure of switches: J. Ousterhout, “Why aren’t operating systems getting faster as fast as \
         hardware?”, USENIX 1990. Threads, conditions and futexes: E. Bendersky, “Measuring context switching and \
         memory overheads for Linux threads”, 2018.",
    )
}

fn low_quantile(subjects: Profiles<'_>) -> String {
    let quantiles = distinct(subjects.iter().flat_map(|one| {
        let direct = one.of.direct.iter().map(|row| row.switch_cost_ns.undisturbed_quantile);
        direct.chain(one.of.total.iter().map(|row| row.total_cost_ns.undisturbed_quantile))
    }));
    let which = match quantiles.as_slice() {
        [one] => format!("a low quantile ({one})"),
        _ => "a low quantile".to_owned(),
    };
    format!(
        "The difference of two low quantiles: {which} of the batches with switches less that of the batches \
         without, divided by the switches. It repeats from run to run several times better than the median. \
         It is what the hardware and the kernel cost when no other task interferes."
    )
}
