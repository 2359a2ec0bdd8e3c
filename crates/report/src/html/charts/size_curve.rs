//! Total and indirect cost over array size: two plots above each other that share their axis, the caches and regions.

use super::caches::{self, AbovePlots, CacheLane};
use super::lines::{Frame, Plot, Series, lane_rows, time_domain};
use super::{Chart, Size, Svg, binary_ticks, extent, text, ticks};

/// What the chart shows.
pub(in crate::html) struct SizeCurve {
    /// c2 by profile and access.
    pub(in crate::html) total: Vec<Series>,
    /// c2 - c1, the same series.
    pub(in crate::html) indirect: Vec<Series>,
    /// c1 and its colour's class, for each profile.
    pub(in crate::html) direct: Vec<(f64, String)>,
    pub(in crate::html) lanes: Vec<CacheLane>,
    /// Whether the series' names are at their ends.
    pub(in crate::html) end_labels: bool,
}

const TITLE: f64 = 24.0;
/// Room for the longest name, `read-modify-write`, in the widest of the usual fonts.
const END_LABELS: f64 = 144.0;

impl Chart for SizeCurve {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let sizes = self.total.iter().chain(&self.indirect).flat_map(|series| &series.points).map(|p| p.x);
        let Some(domain) = extent(sizes) else { return 0.0 };
        let left = size.pick(64.0, 52.0);
        let right = if self.end_labels && size == Size::Wide { END_LABELS } else { 16.0 };
        let width = size.width() - left - right;
        let top = caches::height(&self.lanes) + TITLE;
        let upper = Frame { left, top, width, height: size.pick(270.0, 220.0) };
        let lower =
            Frame { left, top: upper.bottom() + TITLE + 26.0, width, height: size.pick(190.0, 170.0) };

        let spans = [(upper.top, upper.bottom()), (lower.top, lower.bottom())];
        let x = Plot::new(upper, domain, (1.0, 10.0), 0).x;
        AbovePlots { x: &x, sides: (left, upper.right()), spans, size }.draw(svg, &self.lanes);
        let total = Half { title: "Total cost c2, per switch", series: &self.total, direct: &self.direct };
        let indirect =
            Half { title: "Indirect cost c2 − c1, per switch", series: &self.indirect, direct: &[] };
        self.half(svg, upper, domain, &total, size);
        self.half(svg, lower, domain, &indirect, size);
        svg.text((left + width / 2.0, lower.bottom() + 38.0), "axis-name mid", "size of each task’s array");
        lower.bottom() + 44.0
    }
}

impl SizeCurve {
    fn half(&self, svg: &mut Svg, frame: Frame, domain: (f64, f64), half: &Half<'_>, size: Size) {
        svg.text((frame.left, frame.top - 8.0), "plot-name", half.title);
        let y_domain = time_domain(half.series).map_or((1.0, 10.0), |domain| widened(domain, half.direct));
        let plot = Plot::new(frame, domain, y_domain, lane_rows(half.series));
        plot.time_axis(svg, &ticks(y_domain, size.pick(8, 6), text::ns_tick), true);
        let x_ticks = binary_ticks(domain, size.pick(8, 4));
        let x_labels: Vec<_> = x_ticks.into_iter().map(|t| (t as f64, text::bytes(t))).collect();
        plot.x_axis(svg, &x_labels);
        direct_lines(svg, &plot, half.direct);
        plot.series(svg, half.series);
        if self.end_labels && size == Size::Wide {
            plot.end_labels(svg, half.series);
        }
    }
}

/// One of the two plots.
struct Half<'a> {
    title: &'a str,
    series: &'a [Series],
    direct: &'a [(f64, String)],
}

/// Keeps c1 and its label, which is below its line, inside the plot.
fn widened(domain: (f64, f64), direct: &[(f64, String)]) -> (f64, f64) {
    let lowest = extent(direct.iter().map(|(value, _)| *value * 0.7)).map_or(domain.0, |(low, _)| low);
    (domain.0.min(lowest), domain.1)
}

fn direct_lines(svg: &mut Svg, plot: &Plot, direct: &[(f64, String)]) {
    for (value, colour) in direct.iter().filter(|(value, _)| *value > 0.0) {
        let y = plot.y.at(*value);
        svg.line((plot.frame.left, y), (plot.frame.right(), y), &format!("direct {colour}"));
        // Several lines would run through each other's labels; a note beneath the chart names them.
        if direct.len() == 1 {
            svg.text(
                (plot.frame.right() - 4.0, y + 13.0),
                "direct-name end",
                &format!("c1 {}", text::ns(*value)),
            );
        }
    }
}
