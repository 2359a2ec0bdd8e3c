//! Distributions of times, one below the other on a shared logarithmic axis.

use super::{Chart, Scale, Size, Svg, extent, text, ticks};

/// A class of a distribution.
pub(in crate::html) struct Bin {
    /// Where it begins and ends, ns; the beginning is positive.
    pub(in crate::html) from: f64,
    pub(in crate::html) to: f64,
    /// Its height: a share of the values, for each doubling of the time that the class spans.
    pub(in crate::html) density: f64,
    pub(in crate::html) tip: Vec<String>,
}

/// A distribution.
pub(in crate::html) struct Distribution {
    pub(in crate::html) title: String,
    /// The colour's class.
    pub(in crate::html) colour: String,
    pub(in crate::html) bins: Vec<Bin>,
    /// Names of percentiles and where they lie, ns, ascending.
    pub(in crate::html) quantiles: Vec<(&'static str, f64)>,
}

/// Distributions and what they are of.
pub(in crate::html) struct Histogram {
    pub(in crate::html) all: Vec<Distribution>,
    pub(in crate::html) x_name: &'static str,
}

const TITLE: f64 = 20.0;
const LABEL_ROW: f64 = 14.0;
/// A cautious guess at the width of a letter.
const LETTER: f64 = 6.8;
const AXIS: f64 = 40.0;

impl Chart for Histogram {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let bins = || self.all.iter().flat_map(|one| &one.bins);
        let Some((low, high)) = extent(bins().flat_map(|bin| [bin.from, bin.to])) else { return 0.0 };
        let (left, right) = (size.pick(24.0, 16.0), size.width() - size.pick(24.0, 16.0));
        let x = Scale::log((low, high), (left, right));
        let most = bins().map(|bin| bin.density).fold(0.0, f64::max);
        let height = size.pick(110.0, 96.0);
        let mut top = 0.0;
        for one in &self.all {
            svg.text((left, top + 13.0), "plot-name", &text::shortened(&one.title, size.pick(90, 40)));
            let placed = place_labels(one, &x, right);
            let rows = placed.iter().map(|(_, _, row)| row + 1).max().unwrap_or(0);
            let plot_top = top + TITLE + rows as f64 * LABEL_ROW + 6.0;
            let bottom = plot_top + height;
            // The axis has no figures: the areas compare, and a height by itself is not a share of anything.
            let y = Scale::linear((0.0, most), (bottom, plot_top));
            for (value, label) in ticks((low, high), size.pick(9, 4), text::ns_tick) {
                svg.line((x.at(value), plot_top), (x.at(value), bottom + 4.0), "grid");
                let half = label.chars().count() as f64 * LETTER / 2.0;
                // At a border a centred label would be cut.
                let middle = x.at(value).clamp(half, size.width() - half);
                svg.text((middle, bottom + 16.0), "tick mid", &label);
            }
            svg.line((left, bottom), (right, bottom), "axis");
            for bin in &one.bins {
                let (from, to) = (x.at(bin.from), x.at(bin.to));
                let peak = y.at(bin.density);
                svg.mark((from.midpoint(to), peak), "area", &bin.tip, |svg| {
                    svg.rect((from, plot_top), (to - from, height), "hit");
                    let width = (to - from - 1.0).max(0.8);
                    svg.rect(
                        (from, peak),
                        (width, (bottom - peak).max(0.8)),
                        &format!("fill {}", one.colour),
                    );
                });
            }
            let label_y = |row: usize| top + TITLE + row as f64 * LABEL_ROW + 10.0;
            for ((_, _, row), (_, value)) in placed.iter().zip(&one.quantiles) {
                svg.line((x.at(*value), label_y(*row) + 3.0), (x.at(*value), bottom), "quantile");
            }
            // Later, so that no line runs through a label.
            for (label, start, row) in &placed {
                svg.text((*start, label_y(*row)), "tick halo", label);
            }
            top = bottom + AXIS;
        }
        svg.text((left.midpoint(right), top - 8.0), "axis-name mid", self.x_name);
        top
    }
}

/// Labels of the percentiles: text, left end and row, so that none touches another or leaves the picture.
fn place_labels(one: &Distribution, x: &Scale, right: f64) -> Vec<(String, f64, usize)> {
    let mut free_from: Vec<f64> = Vec::new();
    one.quantiles
        .iter()
        .map(|(name, value)| {
            let label = format!("{name}\u{a0}{}", text::ns(*value));
            let width = label.chars().count() as f64 * LETTER;
            let start = (x.at(*value) - width / 2.0).min(right - width).max(0.0);
            let row = free_from.iter().position(|free| *free <= start).unwrap_or(free_from.len());
            if row == free_from.len() {
                free_from.push(0.0);
            }
            free_from[row] = start + width + 8.0;
            (label, start, row)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_percentiles_do_not_touch() {
        let quantiles = vec![("p50", 1000.0), ("p90", 1100.0), ("p99", 1200.0), ("max", 1e6)];
        let one = Distribution { title: String::new(), colour: String::new(), bins: vec![], quantiles };
        let placed = place_labels(&one, &Scale::log((100.0, 1e6), (40.0, 314.0)), 314.0);
        let rows: Vec<usize> = placed.iter().map(|(_, _, row)| *row).collect();
        assert_eq!(rows, [0, 1, 2, 0]);
        assert!(placed.iter().all(|(label, start, _)| start + label.chars().count() as f64 * LETTER < 314.1));
    }
}
