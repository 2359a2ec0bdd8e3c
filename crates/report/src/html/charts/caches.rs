//! Above a curve over array size: the regions found in it as a strip, and the caches' sizes as lines through the plot.

use super::{Scale, Size, Svg, naming, text};
use swtch_profile::model::Region;

const STRIP: f64 = 18.0;
const LABEL_ROW: f64 = 14.0;

/// What one profile shows above the curve.
pub(in crate::html) struct CacheLane {
    /// The profile's name and colour when there are several.
    pub(in crate::html) profile: Option<(String, String)>,
    /// Name and size of each cache.
    pub(in crate::html) caches: Vec<(String, u64)>,
    pub(in crate::html) regions: Vec<Region>,
}

impl CacheLane {
    fn height(&self) -> f64 {
        let name = if self.profile.is_some() { LABEL_ROW + 4.0 } else { 0.0 };
        let strip = if self.regions.is_empty() { 0.0 } else { STRIP + 2.0 };
        let labels = if self.caches.is_empty() { 0.0 } else { 2.0 * LABEL_ROW + 4.0 };
        name + strip + labels
    }
}

/// Height the lanes need above the plot.
pub(in crate::html) fn height(lanes: &[CacheLane]) -> f64 {
    lanes.iter().map(CacheLane::height).sum()
}

/// Where lanes are drawn: the scale and the sides of the plots below, and their spans (top, bottom), through which lines run.
pub(in crate::html) struct AbovePlots<'a> {
    pub(in crate::html) x: &'a Scale,
    pub(in crate::html) sides: (f64, f64),
    pub(in crate::html) spans: [(f64, f64); 2],
    pub(in crate::html) size: Size,
}

impl AbovePlots<'_> {
    /// Draws the lanes from the top down.
    pub(in crate::html) fn draw(&self, svg: &mut Svg, lanes: &[CacheLane]) {
        let mut top = 0.0;
        for lane in lanes {
            let mut y = top;
            if let Some((name, colour)) = &lane.profile {
                let name = text::shortened(name, 36);
                svg.text((self.sides.0, y + 12.0), &format!("series-name {colour}"), &name);
                y += LABEL_ROW + 4.0;
            }
            if !lane.regions.is_empty() {
                self.regions(svg, lane, y);
                y += STRIP + 2.0;
            }
            self.cache_lines(svg, lane, y);
            top += lane.height();
        }
    }

    /// The strip of regions; through the plots as a shade when one profile alone is shown.
    fn regions(&self, svg: &mut Svg, lane: &CacheLane, y: f64) {
        for (i, region) in lane.regions.iter().enumerate() {
            // Borders lie between the sizes that were measured, at their geometric mean.
            let previous = i.checked_sub(1).map(|p| lane.regions[p].to_bytes);
            let next = lane.regions.get(i + 1).map(|n| n.from_bytes);
            let from = border(previous, region.from_bytes);
            let to = border(next, region.to_bytes);
            let nudge = |at: f64, outer: bool, by: f64| if outer { at + by } else { at };
            let left = nudge(self.x.at(from), previous.is_none(), -8.0);
            let right = nudge(self.x.at(to), next.is_none(), 8.0);
            let name = naming::region_name(region.kind);
            if lane.profile.is_none() {
                for (top, bottom) in self.spans {
                    svg.rect((left, top), (right - left, bottom - top), &format!("shade {name}"));
                }
            }
            let tip = [
                format!("Region: {name}"),
                format!("{} to {}", text::bytes(region.from_bytes), text::bytes(region.to_bytes)),
            ];
            let middle = left.midpoint(right);
            svg.mark((middle, y + STRIP / 2.0), "area", &tip, |svg| {
                svg.rect((left + 0.5, y), (right - left - 1.0, STRIP - 2.0), &format!("region {name}"));
                if text_width(name) < right - left - 4.0 {
                    svg.text((middle, y + 12.0), "region-name mid", name);
                }
            });
        }
    }

    fn cache_lines(&self, svg: &mut Svg, lane: &CacheLane, y: f64) {
        let colour = lane.profile.as_ref().map_or("", |(_, colour)| colour.as_str());
        let mut taken: [Vec<(f64, f64)>; 2] = [Vec::new(), Vec::new()];
        // Whole sizes first: they keep the row next to the plot, and halves get the one above.
        let lines = lane.caches.iter().map(|(name, bytes)| (name, *bytes, false));
        let halves = lane.caches.iter().map(|(name, bytes)| (name, *bytes / 2, true));
        for (name, bytes, half) in lines.chain(halves) {
            if !self.x.holds(bytes as f64) {
                continue;
            }
            let at = self.x.at(bytes as f64);
            let label = match (half, self.size) {
                (true, _) => format!("½\u{a0}{name}"),
                (false, Size::Wide) => format!("{name} {}", text::bytes(bytes)),
                (false, Size::Narrow) => name.clone(),
            };
            let class = if half { format!("cache half {colour}") } else { format!("cache {colour}") };
            for (top, bottom) in self.spans {
                svg.line((at, top), (at, bottom), &class);
            }
            let width = text_width(&label);
            let start = (at - width / 2.0).clamp(self.sides.0, (self.sides.1 - width).max(self.sides.0));
            let rows = if half { [0, 1] } else { [1, 0] };
            let free = rows.into_iter().find(|row| {
                taken[*row].iter().all(|(from, to)| start > *to + 4.0 || start + width + 4.0 < *from)
            });
            if let Some(row) = free {
                taken[row].push((start, start + width));
                let baseline = y + 11.0 + row as f64 * LABEL_ROW;
                svg.text((start + width / 2.0, baseline), &format!("cache-name mid {colour}"), &label);
            }
        }
    }
}

fn border(neighbour: Option<u64>, own: u64) -> f64 {
    neighbour.map_or(own as f64, |neighbour| (neighbour as f64 * own as f64).sqrt())
}

/// A cautious guess at the width of a small label; fonts differ between machines.
fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.3
}
