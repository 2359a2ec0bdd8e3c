//! A cache that several tasks take turns in: how many lines does each miss when its turn comes?
//!
//! Physical pages matter: a cache is indexed by physical address, so where the pages of an array lie decides which of its lines compete. Here the
//! tasks were started one after another on an idle machine: their arrays are in a row, with a few other pages between them. The kernel's pages
//! are in a row too, anywhere.

use swtch_stats::Rng;

/// The size of a page of memory.
pub const PAGE_BYTES: u64 = 4096;
/// Laps before counting begins: until then caches fill.
const WARM_LAPS: u32 = 4;
const COUNTED_LAPS: u32 = 2;
/// Pages of a task between its array and the next one (its stack, its page tables): from one to this many.
const MOST_PAGES_BETWEEN: u64 = 4;

/// What kind of cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its size.
    pub cache_bytes: u64,
    /// Lines that an address may lie in.
    pub ways: usize,
    /// Bytes fetched at once.
    pub line_bytes: u64,
}

/// Which line of a full set makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The one used least recently: a cycle that is one line too long misses everywhere.
    Lru,
    /// Any: a cycle that is too long keeps some of its lines.
    Random,
}

/// A set-associative cache.
#[derive(Clone, Debug)]
pub struct Cache {
    ways: usize,
    sets: u64,
    replacement: Replacement,
    /// Lines of each set one after another; under LRU the most recent first.
    lines: Vec<u64>,
    rng: Rng,
}

/// No line has this number.
const EMPTY: u64 = u64::MAX;

impl Cache {
    /// An empty one; `seed` decides what random replacement does.
    ///
    /// # Panics
    /// When the shape does not make at least one whole set.
    pub fn new(shape: Shape, replacement: Replacement, seed: u64) -> Self {
        let sets = shape.cache_bytes / shape.line_bytes / shape.ways as u64;
        assert!(sets > 0, "{shape:?} has no whole set");
        let lines = vec![EMPTY; sets as usize * shape.ways];
        Self { ways: shape.ways, sets, replacement, lines, rng: Rng::new(seed) }
    }

    /// Uses a line, by its number; whether it was there.
    ///
    /// ```
    /// use swtch_experiments::cache_model::{Cache, Replacement, Shape};
    /// let shape = Shape { cache_bytes: 128, ways: 2, line_bytes: 64 };
    /// let mut cache = Cache::new(shape, Replacement::Lru, 0);
    /// assert_eq!([1, 2, 1, 3, 2].map(|line| cache.access(line)), [false, false, true, false, false]);
    /// ```
    pub fn access(&mut self, line: u64) -> bool {
        let first = (line % self.sets) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        let found = set.iter().position(|one| *one == line);
        match self.replacement {
            Replacement::Lru => {
                let from = found.unwrap_or(set.len() - 1);
                set[..=from].rotate_right(1);
                set[0] = line;
            }
            Replacement::Random if found.is_none() => {
                let empty = set.iter().position(|one| *one == EMPTY);
                let way = empty.unwrap_or_else(|| self.rng.below(self.ways as u64) as usize);
                set[way] = line;
            }
            Replacement::Random => {}
        }
        found.is_some()
    }
}

/// Tasks that take turns, each traversing an array of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turns {
    /// The cache that they share.
    pub shape: Shape,
    /// How it makes room.
    pub replacement: Replacement,
    /// Tasks; one alone is the baseline.
    pub tasks: u32,
    /// The array of each.
    pub array_bytes: u64,
    /// How often a traversal comes by each line: 1 in sequence, stride by element size otherwise.
    pub passes: u32,
    /// Pages that every turn touches besides: the kernel's, and the program's own.
    pub footprint_pages: u32,
}

impl Turns {
    /// Lines of its array that a task misses in a turn, the mean over `layouts` placements of the pages.
    pub fn missed_lines(&self, layouts: u64) -> f64 {
        let missed: u64 = (0..layouts).map(|seed| self.missed_in(seed)).sum();
        missed as f64 / (layouts * u64::from(COUNTED_LAPS) * u64::from(self.tasks)) as f64
    }

    fn missed_in(&self, seed: u64) -> u64 {
        let mut rng = Rng::new(seed);
        let page_lines = PAGE_BYTES / self.shape.line_bytes;
        let colours = (self.shape.cache_bytes / self.shape.ways as u64 / PAGE_BYTES).max(1);
        // Numbers of pages: only where they are in the cache, and that none is given out twice, matters.
        let mut free = rng.below(colours);
        let arrays: Vec<u64> = (0..self.tasks)
            .map(|_| {
                let first = free;
                free += self.array_bytes.div_ceil(PAGE_BYTES) + 1 + rng.below(MOST_PAGES_BETWEEN);
                first * page_lines
            })
            .collect();
        let kernel = (free + rng.below(colours)) * page_lines;
        let footprint = kernel..kernel + u64::from(self.footprint_pages) * page_lines;
        let array_lines = self.array_bytes.div_ceil(self.shape.line_bytes);

        let mut cache = Cache::new(self.shape, self.replacement, seed);
        let mut missed = 0;
        for lap in 0..WARM_LAPS + COUNTED_LAPS {
            for array in &arrays {
                for line in footprint.clone() {
                    cache.access(line);
                }
                for _ in 0..self.passes {
                    let hits =
                        (*array..array + array_lines).filter(|line| cache.access(*line)).count() as u64;
                    missed += if lap < WARM_LAPS { 0 } else { array_lines - hits };
                }
            }
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { cache_bytes: 512 << 10, ways: 8, line_bytes: 128 };

    fn turns(tasks: u32, array_kib: u64) -> Turns {
        Turns {
            shape: SHAPE,
            replacement: Replacement::Lru,
            tasks,
            array_bytes: array_kib << 10,
            passes: 1,
            footprint_pages: 0,
        }
    }

    #[test]
    fn what_fits_is_not_missed_and_what_does_not_is() {
        assert_eq!(turns(1, 512).missed_lines(3), 0.0);
        assert_eq!(turns(2, 256).missed_lines(3), 0.0);
        assert_eq!(turns(1, 1024).missed_lines(3), 8192.0);
        assert_eq!(turns(2, 512).missed_lines(3), 4096.0);
    }

    #[test]
    fn a_page_too_many_costs_lru_the_sets_it_lies_in() {
        // Eight pages of arrays in each of sixteen colours, and a ninth in one: all of that colour, four pages of each array.
        let crowded = Turns { footprint_pages: 1, ..turns(2, 256) };
        assert_eq!(crowded.missed_lines(5), 4.0 * 32.0);
        let random = Turns { replacement: Replacement::Random, ..crowded };
        let missed = random.missed_lines(20);
        assert!(missed > 0.0 && missed < 4.0 * 32.0, "{missed}");
    }

    #[test]
    fn random_replacement_keeps_part_of_a_cycle_that_is_too_long() {
        // Survival until the next visit: h = exp(-(1 - h) 2), which is h = 0.203.
        let cycle = Turns { replacement: Replacement::Random, ..turns(1, 1024) };
        let missed = cycle.missed_lines(5) / 8192.0;
        assert!((missed - 0.797).abs() < 0.03, "{missed}");
    }

    #[test]
    fn later_passes_find_what_the_first_brought() {
        let strided = Turns { passes: 16, ..turns(2, 384) };
        assert_eq!(strided.missed_lines(2), 3072.0);
        // Too long even for one task: every pass misses.
        let long = Turns { passes: 16, ..turns(1, 1024) };
        assert_eq!(long.missed_lines(1), 16.0 * 8192.0);
    }
}
