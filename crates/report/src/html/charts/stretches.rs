//! When something ran and when it stood still: a bar for each, on a shared time axis.

use super::rows::{self, BAR};
use super::time_series::time_ticks;
use super::{Chart, Scale, Size, Svg, text};

/// An interval in which nothing ran, ns since the beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::html) struct Gap {
    pub(in crate::html) from: f64,
    pub(in crate::html) to: f64,
}

/// What ran.
pub(in crate::html) struct Lane {
    pub(in crate::html) label: String,
    /// The colour's class.
    pub(in crate::html) colour: String,
    /// How long it was watched, ns.
    pub(in crate::html) length: f64,
    /// Ascending, none touching the next.
    pub(in crate::html) gaps: Vec<Gap>,
}

/// Pixels that intervals need to be distinguished.
const APART: f64 = 3.0;
/// Pixels that a pointer needs to meet something.
const MEETS: f64 = 4.0;

impl Chart for Vec<Lane> {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let end = self.iter().map(|lane| lane.length).fold(0.0, f64::max);
        let x = Scale::linear((0.0, end), (rows::left(size), size.width() - 24.0));
        let ticks = time_ticks(end, size.pick(8, 4)).into_iter().map(|(value, label)| (x.at(value), label));
        let bar = |svg: &mut Svg, lane: &Lane, top| lane.draw(svg, &x, top);
        rows::draw(svg, self, &ticks.collect::<Vec<_>>(), (9.0, size), |lane| &lane.label, bar)
    }
}

impl Lane {
    /// Running is a block of colour; standing still is a thin line.
    fn draw(&self, svg: &mut Svg, x: &Scale, top: f64) {
        let middle = top + BAR / 2.0;
        svg.line((x.at(0.0), middle), (x.at(self.length), middle), "axis");
        let mut ran_from = 0.0;
        let ends = self.gaps.iter().map(|gap| (gap.from, gap.to)).chain([(self.length, self.length)]);
        for (from, to) in ends {
            if from > ran_from {
                let width = (x.at(from) - x.at(ran_from)).max(0.8);
                svg.rect((x.at(ran_from), top), (width, BAR), &format!("fill {}", self.colour));
            }
            ran_from = to;
        }
        if self.gaps.is_empty() {
            let tip = vec![self.label.clone(), format!("no gap in {}", text::ns(self.length))];
            let width = x.at(self.length) - x.at(0.0);
            svg.mark((x.at(self.length / 2.0), middle), "area", &tip, |svg| {
                svg.rect((x.at(0.0), top), (width, BAR), "hit");
            });
        }
        for gaps in told_apart(&self.gaps, x) {
            let (Some(first), Some(last)) = (gaps.first(), gaps.last()) else { continue };
            let (from, to) = (x.at(first.from), x.at(last.to));
            svg.mark((from.midpoint(to), middle), "area", &self.tip(gaps), |svg| {
                let width = (to - from).max(MEETS);
                svg.rect((from.midpoint(to) - width / 2.0, top), (width, BAR), "hit");
            });
        }
    }

    fn tip(&self, gaps: &[Gap]) -> Vec<String> {
        let stood: f64 = gaps.iter().map(|gap| gap.to - gap.from).sum();
        let still = match gaps {
            [_] => format!("{} standing still", text::ns(stood)),
            _ => format!("{} gaps, {} in all", gaps.len(), text::ns(stood)),
        };
        let span = text::ns_range(gaps[0].from, gaps[gaps.len() - 1].to);
        vec![self.label.clone(), still, format!("from {span}")]
    }
}

/// Gaps in runs that can be pointed at: those closer than a pointer can part go together, but not far along the bar.
fn told_apart<'a>(gaps: &'a [Gap], x: &Scale) -> Vec<&'a [Gap]> {
    let mut runs = Vec::new();
    let mut begin = 0;
    for next in 1..=gaps.len() {
        let together = gaps.get(next).is_some_and(|gap| {
            x.at(gap.from) - x.at(gaps[next - 1].to) < APART
                && x.at(gap.to) - x.at(gaps[begin].from) < 4.0 * APART
        });
        if !together {
            runs.push(&gaps[begin..next]);
            begin = next;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::super::picture;
    use super::*;

    fn lane(gaps: &[(f64, f64)]) -> Lane {
        let gaps = gaps.iter().map(|(from, to)| Gap { from: from * 1e6, to: to * 1e6 }).collect();
        Lane { label: "128 MB".to_owned(), colour: "c0".to_owned(), length: 300e6, gaps }
    }

    #[test]
    fn running_and_standing_still_take_turns() {
        let drawn = picture(&vec![lane(&[(8.0, 100.0), (108.0, 200.0)])], Size::Wide, "gaps");
        assert_eq!(drawn.matches("class=\"fill c0\"").count(), 3);
        assert_eq!(drawn.matches("class=\"mark area\"").count(), 2);
        assert!(drawn.contains("92.0\u{a0}ms standing still\nfrom 8.00 to 100\u{a0}ms"), "{drawn}");
    }

    #[test]
    fn gaps_too_close_to_point_at_are_told_together() {
        let close: Vec<(f64, f64)> =
            (0..100).map(|i| (f64::from(i) * 0.2, f64::from(i) * 0.2 + 0.1)).collect();
        let lane = lane(&close);
        let x = Scale::linear((0.0, 300e6), (0.0, 600.0));
        let together = told_apart(&lane.gaps, &x);
        // They span 40 pixels, of which a run takes 12 at most.
        assert!((3..12).contains(&together.len()), "{}", together.len());
        assert_eq!(together.iter().map(|gaps| gaps.len()).sum::<usize>(), 100);
        assert!(lane.tip(together[0])[1].contains("gaps, "));
    }

    #[test]
    fn without_a_gap_it_is_one_block() {
        let drawn = picture(&vec![lane(&[])], Size::Narrow, "gaps");
        assert_eq!(drawn.matches("class=\"fill c0\"").count(), 1);
        assert!(drawn.contains("no gap in 300"), "{drawn}");
    }
}
