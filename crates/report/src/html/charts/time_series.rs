//! Quantities over time, one below the other on a shared axis, each from zero.

use super::{Chart, Scale, Size, Svg, even_ticks, text};

/// An interval, ns since the start, and the value in it; none where it is not known.
#[derive(Clone, Copy)]
pub(in crate::html) struct Step {
    pub(in crate::html) from: f64,
    pub(in crate::html) to: f64,
    pub(in crate::html) value: Option<f64>,
}

/// A quantity of one subject.
pub(in crate::html) struct Curve {
    /// The colour's class.
    pub(in crate::html) colour: String,
    pub(in crate::html) steps: Vec<Step>,
}

/// A quantity of every subject.
pub(in crate::html) struct Panel {
    pub(in crate::html) title: &'static str,
    pub(in crate::html) curves: Vec<Curve>,
    /// The least distance of two ticks.
    pub(in crate::html) least: f64,
}

/// An interval and the state in it.
pub(in crate::html) struct Span {
    pub(in crate::html) from: f64,
    pub(in crate::html) to: f64,
    pub(in crate::html) tip: Vec<String>,
}

/// The chart.
pub(in crate::html) struct TimeSeries {
    pub(in crate::html) panels: Vec<Panel>,
    pub(in crate::html) spans: Vec<Span>,
}

const TITLE: f64 = 24.0;
const AXIS: f64 = 40.0;

impl Chart for TimeSeries {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let (left, right) = (size.pick(52.0, 40.0), size.width() - size.pick(16.0, 14.0));
        let end = self.spans.iter().map(|span| span.to).fold(0.0, f64::max);
        let x = Scale::linear((0.0, end), (left, right));
        let height = size.pick(92.0, 76.0);
        let bottom = self.panels.len() as f64 * (TITLE + height + 8.0);
        for (value, label) in time_ticks(end, size.pick(8, 4)) {
            let at = x.at(value);
            svg.line((at, TITLE), (at, bottom + 4.0), "grid");
            svg.text((at, bottom + 18.0), "tick mid", &label);
        }
        svg.text((left.midpoint(right), bottom + AXIS - 4.0), "axis-name mid", "time since the start");
        for (i, panel) in self.panels.iter().enumerate() {
            let top = i as f64 * (TITLE + height + 8.0) + TITLE;
            panel.draw(svg, &x, (left, right), (top, top + height));
        }
        for span in &self.spans {
            let (from, to) = (x.at(span.from), x.at(span.to));
            svg.mark((from.midpoint(to), TITLE + height / 2.0), "area", &span.tip, |svg| {
                svg.rect((from, TITLE), (to - from, bottom - TITLE), "hit moment");
            });
        }
        bottom + AXIS
    }
}

impl Panel {
    fn draw(&self, svg: &mut Svg, x: &Scale, sides: (f64, f64), span: (f64, f64)) {
        let steps = self.curves.iter().flat_map(|line| &line.steps);
        let high = steps.filter_map(|step| step.value).fold(0.0, f64::max);
        let ticks = even_ticks(high, self.least, 3);
        let y = Scale::linear((0.0, ticks.last().copied().unwrap_or(1.0)), (span.1, span.0));
        // The lines of the time axis run through all plots and must not run through a title.
        svg.rect((sides.0, span.0 - TITLE), (sides.1 - sides.0, TITLE - 1.0), "paper");
        svg.text((sides.0, span.0 - 8.0), "plot-name", self.title);
        for tick in ticks {
            svg.line((sides.0, y.at(tick)), (sides.1, y.at(tick)), "grid");
            let label = if tick > 0.0 && tick < 1.0 { text::amount(tick) } else { text::compact(tick) };
            svg.text((sides.0 - 6.0, y.at(tick) + 4.0), "tick end", &label);
        }
        svg.line((sides.0, span.1), (sides.1, span.1), "axis");
        for line in &self.curves {
            for run in line.steps.split(|step| step.value.is_none()).filter(|run| !run.is_empty()) {
                draw_run(svg, run, x, &y, &line.colour, self.curves.len() == 1);
            }
        }
    }
}

/// Steps that follow one another; `filled` when no other line would be hidden.
fn draw_run(svg: &mut Svg, run: &[Step], x: &Scale, y: &Scale, colour: &str, filled: bool) {
    let path: Vec<(f64, f64)> = run
        .iter()
        .flat_map(|step| {
            let height = y.at(step.value.unwrap_or(0.0));
            [(x.at(step.from), height), (x.at(step.to), height)]
        })
        .collect();
    if let (true, Some(first), Some(last)) = (filled, path.first(), path.last()) {
        let ends = [(last.0, y.at(0.0)), (first.0, y.at(0.0))];
        let area: Vec<(f64, f64)> = path.iter().copied().chain(ends).collect();
        svg.polyline(&area, true, &format!("band {colour}"));
    }
    svg.polyline(&path, false, &format!("line thin {colour}"));
}

/// Distances of ticks of a time axis, s, above a minute.
const LONG_STEPS_S: [f64; 13] = [
    60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14_400.0, 21_600.0, 43_200.0, 86_400.0,
    604_800.0,
];

/// Round moments up to `end_ns`, at most `most` steps apart.
pub(super) fn time_ticks(end_ns: f64, most: usize) -> Vec<(f64, String)> {
    let end_s = end_ns / 1e9;
    let wanted_s = end_s / most as f64;
    let short = even_ticks(end_s, 1e-6, most);
    let step_s = match short.get(1) {
        Some(step) if *step <= 20.0 => *step,
        _ => LONG_STEPS_S.into_iter().find(|step| *step >= wanted_s).unwrap_or(wanted_s),
    };
    (0..=(end_s / step_s + 1e-9) as u32)
        .map(|i| f64::from(i) * step_s)
        .map(|at| (at * 1e9, tick_label(at, step_s)))
        .collect()
}

fn tick_label(at_s: f64, step_s: f64) -> String {
    let (scale, unit) = match step_s {
        s if s >= 3600.0 => (3600.0, "h"),
        s if s >= 60.0 => (60.0, "min"),
        _ if at_s == 0.0 => (1.0, "s"),
        s if s >= 0.1 => (1.0, "s"),
        s if s >= 1e-4 => (1e-3, "ms"),
        _ => (1e-6, "µs"),
    };
    // Rounding removes what powers of ten leave behind.
    format!("{}\u{a0}{unit}", (at_s / scale * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::picture;
    use super::*;

    fn labels(end_s: f64) -> Vec<String> {
        time_ticks(end_s * 1e9, 4).into_iter().map(|(_, label)| label.replace('\u{a0}', " ")).collect()
    }

    #[test]
    fn ticks_of_time_are_round_in_their_unit() {
        assert_eq!(labels(1.87), ["0 s", "0.5 s", "1 s", "1.5 s"]);
        assert_eq!(labels(0.002), ["0 s", "0.5 ms", "1 ms", "1.5 ms", "2 ms"]);
        assert_eq!(labels(300.0), ["0 min", "2 min", "4 min"]);
        assert_eq!(labels(30_000.0), ["0 h", "4 h", "8 h"]);
    }

    #[test]
    fn a_gap_is_not_bridged() {
        let step = |from: f64, value| Step { from, to: from + 1.0, value };
        let steps = vec![step(0.0, Some(1.0)), step(1.0, None), step(2.0, Some(3.0))];
        let line = Curve { colour: "c0".to_owned(), steps };
        let panel = Panel { title: "", curves: vec![line], least: 1.0 };
        let spans = vec![Span { from: 0.0, to: 3.0, tip: vec!["t".to_owned()] }];
        let drawn = picture(&TimeSeries { panels: vec![panel], spans }, Size::Wide, "");
        assert_eq!(drawn.matches("class=\"line thin c0\"").count(), 2);
        assert_eq!(drawn.matches("class=\"mark area\"").count(), 1);
    }
}
