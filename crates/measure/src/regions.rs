//! Finds the three regions of Li, Ding and Shen (ExpCS 2007, section 3.1) in the curve of c2 over array size. Then compares
//! the borders with the caches that the machine reports.

use swtch_profile::model::{Knee, Region, RegionKind};
use swtch_stats::{Segment, median, piecewise_linear};
use swtch_topology::host::Cache;

/// One point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Size of each task's array, bytes.
    pub array_bytes: u64,
    /// c2 at that size, ns.
    pub total_cost_ns: f64,
}

/// A segment rises when doubling the array multiplies the excess by more than 2 to this power.
const RISING_SLOPE: f64 = 0.4;
/// A step between two segments that multiplies the excess by more than 2 to this power is a rise as well.
const STEP_OCTAVES: f64 = 0.8;
/// Excess below this share of the flat level is noise. It is added to every excess, so that noise stays flat on a log scale.
const NOISE_SHARE: f64 = 0.04;
/// Standard deviation of a point in octaves: c2 is known to about a hundredth, a quarter of the noise that is added.
const NOISE_OCTAVES: f64 = 0.3;
/// A border agrees with a cache that predicts it within a factor of two. The prediction counts capacity. Pages are placed at random, so
/// some sets of a physically indexed cache overflow when it is half full (Kessler and Hill, ACM TOCS 10 (1992)).
const AGREEMENT_OCTAVES: f64 = 1.0;
/// Fewer points than this show no shape.
pub(crate) const FEWEST_POINTS: usize = 5;
/// Most segments looked for: flat, a rise at each of three caches, plateaus between and after.
const MOST_SEGMENTS: usize = 6;

/// The regions of a curve sorted by size, and its knees compared with `caches` (the data caches of the CPU measured on).
///
/// The logarithm of the excess over the level of the smallest arrays is divided into segments. The refill of a small cache is a
/// small share of c2, whose direct cost is a microsecond. But it is many times the excess without a refill. A machine with several
/// caches has several rises; the segment between two of them exceeds the smaller cache and fits the larger one.
pub(crate) fn find(points: &[Point], caches: &[&Cache]) -> (Vec<Region>, Vec<Knee>) {
    if points.len() < FEWEST_POINTS {
        return (Vec::new(), Vec::new());
    }
    let smallest: Vec<f64> = points.iter().take(FEWEST_POINTS).map(|point| point.total_cost_ns).collect();
    let level = median(&smallest);
    let noise = NOISE_SHARE * level.abs().max(1.0);
    let x: Vec<f64> = points.iter().map(|point| (point.array_bytes as f64).log2()).collect();
    let excess = |point: &Point| (noise + (point.total_cost_ns - level).max(0.0)).log2();
    let y: Vec<f64> = points.iter().map(excess).collect();
    let segments = piecewise_linear(&x, &y, NOISE_OCTAVES, MOST_SEGMENTS, 2);
    let kinds = kinds(&segments, &x);
    let mut regions: Vec<Region> = Vec::new();
    for (point, kind) in points.iter().zip(&kinds) {
        match regions.last_mut() {
            Some(region) if region.kind == *kind => region.to_bytes = point.array_bytes,
            _ => regions.push(Region {
                from_bytes: point.array_bytes,
                to_bytes: point.array_bytes,
                kind: *kind,
            }),
        }
    }
    let knees = regions
        .windows(2)
        .map(|pair| match pair[1].kind {
            RegionKind::Interferes => knee(pair[0].to_bytes, "rise", caches),
            _ => knee(pair[1].from_bytes, "plateau", caches),
        })
        .collect();
    (regions, knees)
}

/// What happens at each point. A step up between two flat segments is a rise of its first point.
fn kinds(segments: &[Segment], x: &[f64]) -> Vec<RegionKind> {
    let mut kinds = vec![RegionKind::Fits; x.len()];
    let mut risen = false;
    for (index, segment) in segments.iter().enumerate() {
        let rising = segment.slope > RISING_SLOPE;
        let before = index.checked_sub(1).map(|previous| &segments[previous]);
        let height = |of: &Segment, point: usize| of.intercept + of.slope * x[point];
        let step_up = before.is_some_and(|previous| {
            height(segment, segment.first) - height(previous, previous.last) > STEP_OCTAVES
        });
        for (point, kind) in kinds.iter_mut().enumerate().take(segment.last + 1).skip(segment.first) {
            let steps_here = step_up && point == segment.first;
            risen |= rising || steps_here;
            *kind = match (rising || steps_here, risen) {
                (true, _) => RegionKind::Interferes,
                (false, true) => RegionKind::Exceeds,
                (false, false) => RegionKind::Fits,
            };
        }
    }
    kinds
}

/// Pairs one border with the cache that predicts it best: two arrays stop fitting at half of a cache, one at the whole.
fn knee(array_bytes: u64, kind: &str, caches: &[&Cache]) -> Knee {
    let found = (array_bytes as f64).log2();
    let nearest = caches
        .iter()
        .map(|cache| {
            let predicted_bytes = if kind == "rise" { cache.bytes / 2 } else { cache.bytes };
            ((predicted_bytes.max(1) as f64).log2() - found, predicted_bytes, *cache)
        })
        .min_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let agrees = nearest.as_ref().is_some_and(|(distance, ..)| distance.abs() <= AGREEMENT_OCTAVES + 1e-9);
    Knee {
        array_bytes,
        kind: kind.to_owned(),
        cache_level: nearest.as_ref().map(|(_, _, cache)| cache.level),
        cache_bytes: nearest.as_ref().map(|(_, _, cache)| cache.bytes),
        predicted_bytes: nearest.as_ref().map(|(_, predicted, _)| *predicted),
        agrees,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_topology::host::CacheKind;

    fn cache(level: u32, bytes: u64) -> Cache {
        Cache { level, kind: CacheKind::Unified, bytes, line_bytes: Some(64), ways: None, shared_by: vec![0] }
    }

    /// Flat to half of the cache, a rise to the whole of it, a plateau: the shape the paper describes.
    fn curve(cache_bytes: u64) -> Vec<Point> {
        (20..46)
            .map(|half_octave| {
                let size = 2f64.powf(f64::from(half_octave) / 2.0);
                let rise = (size / (cache_bytes as f64 / 2.0)).clamp(1.0, 2.0).log2();
                let wobble = 1.0 + 0.01 * f64::from((half_octave * 7) % 5 - 2);
                Point { array_bytes: size as u64, total_cost_ns: 1000.0 * 32f64.powf(rise) * wobble }
            })
            .collect()
    }

    #[test]
    fn the_three_regions_are_found_where_the_cache_puts_them() {
        for cache_bytes in [256 << 10, 512 << 10, 1 << 20] {
            let caches = [cache(1, 32 << 10), cache(2, cache_bytes)];
            let (regions, knees) = find(&curve(cache_bytes), &caches.iter().collect::<Vec<_>>());
            let kinds: Vec<RegionKind> = regions.iter().map(|region| region.kind).collect();
            assert_eq!(
                kinds,
                [RegionKind::Fits, RegionKind::Interferes, RegionKind::Exceeds],
                "{cache_bytes}"
            );
            assert!(knees.iter().all(|knee| knee.agrees && knee.cache_level == Some(2)), "{knees:?}");
        }
    }

    /// A curve measured on a virtual machine with an L2 of 1 MiB and a shared L3 of 32 MiB: two rises, one for each.
    #[test]
    fn a_small_cache_shows_beside_a_large_one() {
        let lows = [
            1653., 1676., 1690., 1679., 1691., 1732., 1672., 1666., 1694., 2034., 2291., 2321., 3007., 8653.,
            36160.,
        ];
        let points: Vec<Point> = lows
            .iter()
            .enumerate()
            .map(|(octave, low)| Point { array_bytes: 1024 << octave, total_cost_ns: *low })
            .collect();
        let caches = [cache(1, 48 << 10), cache(2, 1 << 20), cache(3, 32 << 20)];
        let (regions, knees) = find(&points, &caches.iter().collect::<Vec<_>>());
        assert_eq!(regions[0], Region { from_bytes: 1024, to_bytes: 256 << 10, kind: RegionKind::Fits });
        assert_eq!(regions[1].kind, RegionKind::Interferes);
        assert!(knees[0].agrees && knees[0].cache_level == Some(2), "{knees:?}");
    }

    /// The same machine, other sizes, more noise.
    #[test]
    fn two_rises_stay_apart_in_noise() {
        let curve = [
            (1, 31.9),
            (2, 41.2),
            (4, 19.9),
            (8, 0.28),
            (16, 57.2),
            (32, 114.0),
            (64, 58.5),
            (128, 5.94),
            (192, -12.7),
            (256, 77.4),
            (384, 213.0),
            (512, 419.0),
            (768, 485.0),
            (1024, 720.0),
            (1536, 529.0),
            (2048, 737.0),
            (3072, 895.0),
            (4096, 1090.0),
            (8192, 5160.0),
            (16384, 14800.0),
        ];
        let points: Vec<Point> = curve
            .iter()
            .map(|(kib, excess)| Point { array_bytes: kib << 10, total_cost_ns: 1650.0 + excess })
            .collect();
        let caches = [cache(1, 48 << 10), cache(2, 1 << 20), cache(3, 32 << 20)];
        let (regions, knees) = find(&points, &caches.iter().collect::<Vec<_>>());
        assert_eq!(regions[0].kind, RegionKind::Fits, "{regions:?}");
        assert!((192 << 10..=384 << 10).contains(&regions[0].to_bytes), "{regions:?}");
        assert!(knees[0].agrees && knees[0].cache_level == Some(2), "{knees:?}");
    }

    #[test]
    fn a_flat_curve_has_one_region_and_no_knee() {
        let points: Vec<Point> = (10..24)
            .map(|octave| Point {
                array_bytes: 1 << octave,
                total_cost_ns: 1000.0 + f64::from((octave * 13) % 7),
            })
            .collect();
        let (regions, knees) = find(&points, &[]);
        assert_eq!(regions.len(), 1);
        assert_eq!(regions[0].kind, RegionKind::Fits);
        assert!(knees.is_empty());
    }

    #[test]
    fn a_border_far_from_every_cache_does_not_agree() {
        let caches = [cache(2, 64 << 20)];
        let (_, knees) = find(&curve(512 << 10), &caches.iter().collect::<Vec<_>>());
        assert!(!knees.is_empty() && knees.iter().all(|knee| !knee.agrees));
    }

    #[test]
    fn too_few_points_have_no_shape() {
        assert_eq!(find(&curve(1 << 20)[..4], &[]), (vec![], vec![]));
    }
}
