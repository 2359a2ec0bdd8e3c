//! The spans that the program marks: how far it has come, and how long those right after an interruption took.

use super::ProbeError;
use super::estimate::share;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;
use swtch_measure::Block;
use swtch_stats::median;

/// Spans after which caches are full again, where one goes through all that the program uses: the rest of the one that was interrupted fills
/// what comes after its place, and the next what comes before.
const LEAST_SPANS: usize = 2;
/// Where a span uses only a part of its memory, refilling takes more of them: at most this many times as long as the touching.
const TIMES_TOUCHED: f64 = 2.0;
/// Spans on several threads delay each other. Where more than this share of them is on other threads, or overlap, single ones tell nothing.
const OTHERS: f64 = 0.1;
/// Where the program had this share of what the interruptions left of its CPU, the rest was theirs, too.
const ALONE_SHARE: f64 = 0.9;

/// All spans so far.
#[derive(Debug, Default)]
pub(super) struct Marked {
    /// When they ended, ns, ascending.
    ends_ns: Vec<u64>,
    /// Those of the commonest name, begin and end, one after the other. Empty where spans overlap.
    in_turn: Vec<(u64, u64)>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SpanLine {
    Spans {
        name: String,
        #[serde(default)]
        tid: u64,
        begin_ns: Vec<u64>,
        end_ns: Vec<u64>,
    },
    End {
        t_ns: u64,
        event: String,
    },
}

impl Marked {
    /// From the files that the program writes, one for each launch in their order; none where there is none. A line that is being written is
    /// left out.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(super) fn read(paths: impl IntoIterator<Item = PathBuf>) -> Result<Self, ProbeError> {
        let text = |path| match std::fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            text => text.map_err(ProbeError::Scratch),
        };
        Ok(Self::of_launches(paths.into_iter().map(text).collect::<Result<Vec<_>, _>>()?))
    }

    /// Of one launch after the other. One whose single spans tell nothing spoils the others.
    fn of_launches(texts: impl IntoIterator<Item = String>) -> Self {
        let launches = texts.into_iter().map(|text| Self::of(&text)).filter(|launch| launch.count() > 0);
        let launches: Vec<Self> = launches.collect();
        let tell = launches.iter().all(|launch| !launch.in_turn.is_empty());
        let mut all = Self::default();
        for launch in launches {
            all.ends_ns.extend(launch.ends_ns);
            all.in_turn.extend(launch.in_turn.into_iter().filter(|_| tell));
        }
        all
    }

    fn of(text: &str) -> Self {
        let mut ends_ns = Vec::new();
        let mut of_names: BTreeMap<(u64, String), Vec<(u64, u64)>> = BTreeMap::new();
        for line in text.lines() {
            match serde_json::from_str(line) {
                Ok(SpanLine::Spans { name, tid, begin_ns, end_ns }) => {
                    ends_ns.extend(&end_ns);
                    of_names.entry((tid, name)).or_default().extend(begin_ns.into_iter().zip(end_ns));
                }
                Ok(SpanLine::End { t_ns, event }) if event == "end" => ends_ns.push(t_ns),
                Ok(SpanLine::End { .. }) | Err(_) => {}
            }
        }
        ends_ns.sort_unstable();
        Self { ends_ns, in_turn: in_turn(&of_names) }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.ends_ns.len()
    }

    /// How many ended in a block.
    pub(super) fn ended_in(&self, block: &Block) -> usize {
        let until = |ns: u64| self.ends_ns.partition_point(|end| *end < ns);
        until(block.end_ns) - until(block.begin_ns)
    }

    /// How long after `began_ns` the first one began; absent where single ones tell nothing.
    pub(super) fn first_after(&self, began_ns: u64) -> Option<Duration> {
        let (begin_ns, _) = self.in_turn.first()?;
        Some(Duration::from_nanos(begin_ns.saturating_sub(began_ns)))
    }

    /// How long one takes, ns; absent where single ones tell nothing.
    pub(super) fn typical_ns(&self) -> Option<f64> {
        let durations: Vec<f64> = self.in_turn.iter().map(|(begin, end)| (end - begin) as f64).collect();
        (!durations.is_empty()).then(|| median(&durations).max(1.0))
    }

    /// How many spans an interruption may slow that touches memory for this long; absent where single ones tell nothing.
    pub(super) fn slowed_by(&self, touch_ns: u64) -> Option<usize> {
        let more = TIMES_TOUCHED * touch_ns as f64 / self.typical_ns()?;
        Some(LEAST_SPANS.max(more.ceil() as usize + 1))
    }

    /// The median over the block's interruptions of what the next `spans` spans took together, without the interruption: the thread's work in
    /// it, and what one takes besides on average that is not the program's CPU time. So the kernel's own cold caches, which the thread meets on
    /// its way back to sleep, are not taken to be the program's. Absent where the next interruption always came before they ended.
    pub(super) fn after_interruptions(&self, block: &Block, spans: usize) -> Option<f64> {
        let besides_ns = besides_ns(block) / block.interruptions.len().max(1) as f64;
        let next = block.interruptions[1.min(block.interruptions.len())..].iter().map(|next| next.from_ns);
        let took = block.interruptions.iter().zip(next.chain([block.end_ns]));
        let took = took.filter_map(|(interruption, next_ns)| {
            let first = self.in_turn.partition_point(|(_, end)| *end <= interruption.from_ns);
            let slowed = self.in_turn.get(first..first + spans)?;
            let (begin_ns, end_ns) = (slowed[0].0, slowed[spans - 1].1);
            let sum_ns = slowed.iter().map(|(begin, end)| end - begin).sum::<u64>() as f64;
            // Nothing, where it came between two spans.
            let away_ns = match interruption.until_ns.saturating_sub(begin_ns.max(interruption.from_ns)) {
                0 => 0.0,
                ns => ns as f64 + besides_ns,
            };
            (end_ns <= next_ns).then_some(sum_ns - away_ns)
        });
        let took: Vec<f64> = took.collect();
        (!took.is_empty()).then(|| median(&took))
    }
}

/// What the interruptions of a block took that is neither their work nor the program's CPU time, ns: the way in and out, interrupts.
fn besides_ns(block: &Block) -> f64 {
    // Else other programs had the CPU for some of it, or none.
    let is_alone = share(block) >= ALONE_SHARE;
    let length_ns = block.end_ns - block.begin_ns;
    let not_its_own_ns = if is_alone { length_ns.saturating_sub(block.cpu_ns) } else { block.helper_cpu_ns };
    not_its_own_ns.saturating_sub(block.helper_work_ns()) as f64
}

/// The spans of the commonest name and thread, where nearly all are on that thread and none overlaps the next.
fn in_turn(of_names: &BTreeMap<(u64, String), Vec<(u64, u64)>>) -> Vec<(u64, u64)> {
    let Some(((tid, _), most)) = of_names.iter().max_by_key(|(_, spans)| spans.len()) else {
        return Vec::new();
    };
    let elsewhere = of_names.iter().filter(|((other, _), _)| other != tid).map(|(_, spans)| spans.len());
    let mut spans: Vec<(u64, u64)> = most.iter().copied().filter(|(begin, end)| begin < end).collect();
    spans.sort_unstable();
    let overlap = spans.windows(2).filter(|pair| pair[1].0 < pair[0].1).count();
    let are_alone = (elsewhere.sum::<usize>() + overlap) as f64 <= OTHERS * most.len() as f64;
    if are_alone { spans } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_measure::Interruption;

    fn line(name: &str, tid: u64, spans: &[(u64, u64)]) -> String {
        let of = |all: Vec<u64>| format!("{all:?}");
        let (begin, end) =
            (of(spans.iter().map(|one| one.0).collect()), of(spans.iter().map(|one| one.1).collect()));
        format!(r#"{{"event":"spans","name":"{name}","tid":{tid},"begin_ns":{begin},"end_ns":{end}}}"#)
    }

    /// Spans of 100 ns; an interruption of 1,000 ns after 50 of one, whose rest takes 30 more and the next 20 more.
    #[test]
    fn the_interrupted_span_and_the_next_tell_what_was_lost() {
        let spans = [(0, 100), (100, 1_230), (1_230, 1_350), (1_350, 1_450), (1_450, 1_550)];
        let marked = Marked::of(&format!("{}\n{{\"event\":\"spans\",\"na", line("pass", 7, &spans)));
        let block = |end_ns| Block {
            begin_ns: 150,
            end_ns,
            interruptions: vec![Interruption { from_ns: 150, until_ns: 1_150 }],
            ..Block::default()
        };
        assert_eq!(marked.after_interruptions(&block(2_000), 2), Some(250.0));
        // 30 of them are the thread's way in and out, and where nothing else had the CPU 20 more are interrupts.
        let counted = Block { helper_cpu_ns: 1_030, ..block(2_000) };
        assert_eq!(marked.after_interruptions(&counted, 2), Some(220.0));
        let alone = Block { cpu_ns: 800, ..counted };
        assert_eq!(marked.after_interruptions(&alone, 2), Some(200.0));
        assert_eq!(marked.after_interruptions(&block(2_000), 3), Some(350.0));
        // The next interruption, or what is not marked yet, comes first.
        assert_eq!(marked.after_interruptions(&block(1_300), 2), None);
        assert_eq!(marked.after_interruptions(&block(2_000), 5), None);
        assert_eq!((marked.ended_in(&block(1_400)), marked.count()), (2, 5));
        assert_eq!(
            (marked.typical_ns(), marked.slowed_by(10), marked.slowed_by(500)),
            (Some(100.0), Some(2), Some(11))
        );
    }

    #[test]
    fn an_interruption_between_two_spans_takes_nothing_off_them() {
        let marked = Marked::of(&line("pass", 7, &[(0, 100), (300, 420), (420, 520)]));
        let interruptions = vec![Interruption { from_ns: 150, until_ns: 250 }];
        let block = Block { begin_ns: 150, end_ns: 900, interruptions, ..Block::default() };
        assert_eq!(marked.after_interruptions(&block, 2), Some(220.0));
    }

    #[test]
    fn spans_of_several_threads_or_that_overlap_tell_nothing_one_by_one() {
        let spans: Vec<(u64, u64)> = (0..20).map(|i| (100 * i, 100 * i + 90)).collect();
        let alone = line("request", 7, &spans);
        let nested = line("outer", 7, &[(0, 1_000)]);
        assert!(Marked::of(&format!("{alone}\n{nested}")).typical_ns().is_some());
        let elsewhere = line("request", 8, &spans[..5]);
        let overlapping: Vec<(u64, u64)> = spans.iter().map(|(begin, end)| (*begin, end + 50)).collect();
        for text in [format!("{alone}\n{elsewhere}"), line("request", 7, &overlapping)] {
            let marked = Marked::of(&text);
            assert_eq!((marked.typical_ns(), marked.slowed_by(1)), (None, None));
            assert!(marked.count() >= 20);
        }
    }

    /// A launch has another thread. Its spans tell all the same.
    #[test]
    fn spans_of_one_launch_after_the_other_tell() {
        let of = |from: u64| (0..10).map(|i| (from + 100 * i, from + 100 * i + 90)).collect::<Vec<_>>();
        let (first, second) = (line("request", 7, &of(0)), line("request", 8, &of(5_000)));
        let both = format!("{second}\n{}", line("request", 9, &of(5_040)));
        let launches = [first.clone(), second, String::new()];
        assert_eq!(Marked::of_launches(launches).in_turn, [of(0), of(5_000)].concat());
        // A launch with two threads at once spoils the whole.
        assert!(Marked::of_launches([first, both]).in_turn.is_empty());
    }

    #[test]
    fn the_contracts_lines_are_progress_and_no_file_is_none() {
        let text = "{\"t_ns\":5,\"event\":\"begin\"}\n{\"t_ns\":9,\"event\":\"end\"}\n";
        assert_eq!(Marked::of(text).count(), 1);
        assert_eq!(Marked::read([PathBuf::from("/nonexistent")]).unwrap().count(), 0);
    }
}
