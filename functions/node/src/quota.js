'use strict';
// Finds period and quota in what spinning threads ran. A throttled thread begins to run again when its quota is refilled, at the boundary of
// a period; a preempted one at any time. A stretch is { start, end, cpu } in ns: without a gap, and the whole process's CPU time at its
// start, null where it was not asked for.

/** How far from a period's boundary a throttled thread may begin to run again: others may have its CPU just then. */
const JITTER_NS = 2e6;
/** The same as a part of the period. */
const JITTER_PART = 16;
/** Periods looked for: from 1 s, the kernel's longest, to 10 ms. Shorter ones are the ticks at which others preempt. */
const LOWEST_HZ = 1;
const HIGHEST_HZ = 100;
/** Of the best agreement with any period: what a longer period must reach to be taken instead. */
const NEARLY_BEST = 0.8;
/** Accidents of so many in all trials are accepted. */
const ACCIDENT = 0.01;

/** Null when the ends of gaps have no common period. */
function infer(threads) {
  const gaps = gapsOf(threads);
  const typical = typicalLength(gaps);
  // Being preempted is shorter than being throttled, on a busy machine much oftener too: then only the longest gaps tell.
  for (const part of [0.25, 1, 2, 4]) {
    const grid = gridOf(gaps.filter((gap) => gap.length >= part * typical));
    const found = grid && measure(grid, threads, gaps);
    if (found) return found;
  }
  return null;
}

// Of all threads, by their ends.
function gapsOf(threads) {
  const gaps = threads.flatMap((stretches) =>
    stretches.slice(1).map((next, i) => ({ start: stretches[i].end, end: next.start, length: next.start - stretches[i].end })),
  );
  return gaps.sort((a, b) => a.end - b.end);
}

// Half of all time lost is in gaps at least as long.
function typicalLength(gaps) {
  const lengths = gaps.map((gap) => gap.length).sort((a, b) => b - a);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  let sum = 0;
  return lengths.find((length) => 2 * (sum += length) >= total) ?? 0;
}

// The boundaries that these gaps end at, if they do.
function gridOf(gaps) {
  if (gaps.length < 3) return null;
  const guess = likelyPeriod(gaps);
  if (guess === null) return null;
  const grid = fit(gaps, guess);
  return significant(grid, gaps) ? grid : null;
}

// The longest period that the ends agree with nearly as well as with any: they agree with its fractions too.
function likelyPeriod(gaps) {
  const span = (gaps[gaps.length - 1].end - gaps[0].end) / 1e9;
  if (span <= 0) return null;
  const step = 0.1 / span;
  const lowest = Math.max(LOWEST_HZ * 0.99, 1.5 / span);
  const scores = [];
  for (let hz = lowest; hz < HIGHEST_HZ; hz += step) scores.push(resultant(gaps, 1e9 / hz).length);
  const enough = NEARLY_BEST * scores.reduce((best, score) => Math.max(best, score), 0);
  const place = scores.findIndex((score, i) => score >= enough && !(scores[i + 1] > score));
  return place < 0 ? null : 1e9 / (lowest + place * step);
}

// How well ends fall on one phase of a period, 0 to 1, and which (Mardia and Jupp, "Directional Statistics", 2000, 2.2).
function resultant(gaps, period) {
  let x = 0;
  let y = 0;
  let total = 0;
  for (const gap of gaps) {
    const angle = (2 * Math.PI * (gap.end - gaps[0].end)) / period;
    x += gap.length * Math.cos(angle);
    y += gap.length * Math.sin(angle);
    total += gap.length;
  }
  return { length: Math.hypot(x, y) / total, phase: gaps[0].end + (Math.atan2(y, x) / (2 * Math.PI)) * period };
}

/** Boundaries of periods: phase + k * period. */
class Grid {
  constructor(phase, period) {
    this.phase = phase;
    this.period = period;
    this.tolerance = Math.min(JITTER_NS, period / JITTER_PART);
  }

  index(at) {
    return Math.round((at - this.phase) / this.period);
  }

  boundary(k) {
    return this.phase + k * this.period;
  }

  distance(at) {
    return Math.abs(at - this.boundary(this.index(at)));
  }

  isNear(at) {
    return this.distance(at) <= this.tolerance;
  }
}

// A line through the ends that are near boundaries, by least squares, again and again with those that are nearer.
function fit(gaps, period) {
  let grid = new Grid(resultant(gaps, period).phase, period);
  for (const share of [4, 8, 16, 32, 64]) {
    const width = Math.max(period / share, grid.tolerance);
    const near = gaps.map((gap) => gap.end).filter((end) => grid.distance(end) <= width);
    const numbers = near.map((end) => grid.index(end));
    const n = near.length;
    const k = numbers.reduce((sum, number) => sum + number, 0) / n;
    const end = near.reduce((sum, at) => sum + at, 0) / n;
    const across = numbers.reduce((sum, number) => sum + (number - k) ** 2, 0);
    if (!(across > 0)) break;
    const slope = numbers.reduce((sum, number, i) => sum + (number - k) * (near[i] - end), 0) / across;
    grid = new Grid(end - slope * k, slope);
  }
  return grid;
}

// Whether as many ends would hardly be near boundaries by accident: the binomial chance, for every end as the first and every frequency
// that could have been found.
function significant(grid, gaps) {
  // Several threads are let go at one boundary, which is one moment.
  const moments = [];
  for (const { end } of gaps) {
    if (moments.length === 0 || end - moments[moments.length - 1] > 2 * grid.tolerance) moments.push(end);
  }
  const near = moments.filter((end) => grid.isNear(end)).length;
  const n = moments.length;
  if (near < 3 || 5 * near < 3 * n) return false;
  const trials = n * Math.max(1, (gaps[gaps.length - 1].end - gaps[0].end) / grid.period);
  return trials * binomialTail(n - 2, near - 2, (2 * grid.tolerance) / grid.period) < ACCIDENT;
}

// Chance of at least k of n.
function binomialTail(n, k, chance) {
  let sum = 0;
  let log = n * Math.log1p(-chance);
  for (let i = 0; i <= n; i++) {
    if (i >= k) sum += Math.exp(log);
    log += Math.log((n - i) / (i + 1)) + Math.log(chance / (1 - chance));
  }
  return sum;
}

// Adds up what ran from boundary to boundary, where the quota was used up each time. Null when that was seldom so.
function measure(grid, threads, gaps) {
  const ends = new Set(); // Boundaries at which a gap ended,
  const within = new Set(); // and those that lie in one: their quota was owed.
  const throttles = gaps.filter((gap) => grid.isNear(gap.end));
  for (const gap of throttles) {
    const last = grid.index(gap.end);
    ends.add(last);
    for (let k = Math.ceil((gap.start - grid.phase) / grid.period); k < last; k++) within.add(k);
  }
  const order = [...ends].sort((a, b) => a - b);
  const cpu = cpuAtBoundaries(grid, threads);
  let ran = 0;
  let periods = 0;
  for (let i = 1; i < order.length; i++) {
    const [from, to] = [order[i - 1], order[i]];
    const between = Array.from({ length: to - from - 1 }, (_, offset) => from + 1 + offset);
    if (!between.every((k) => within.has(k))) continue;
    periods += to - from;
    ran += cpu.has(from) && cpu.has(to) ? cpu.get(to) - cpu.get(from) : overlap(threads, grid.boundary(from), grid.boundary(to));
  }
  const all = order[order.length - 1] - order[0];
  if (2 * periods < all) return null;
  return {
    period: grid.period,
    quota: ran / periods,
    throttled: throttles.reduce((sum, gap) => sum + gap.length, 0),
    gaps: throttles.length,
    periods: all,
    first: grid.boundary(order[0]),
  };
}

// The process's CPU time: what the quota was charged with, other threads' and the kernel's part in it that the spinners do not see.
function cpuAtBoundaries(grid, threads) {
  const at = new Map();
  for (const { start, cpu } of threads.flat()) {
    if (cpu === null || !grid.isNear(start)) continue;
    const k = grid.index(start);
    if (!(at.get(k) <= cpu)) at.set(k, cpu);
  }
  return at;
}

// How long threads ran between two times.
function overlap(threads, from, to) {
  return threads.flat().reduce((sum, { start, end }) => sum + Math.max(0, Math.min(to, end) - Math.max(from, start)), 0);
}

/** When no thread ran for longer than a gap, from the beginning of the spinning: [start, length]. */
function idle(threads, gapNs) {
  const found = [];
  let reached = 0;
  for (const { start, end } of threads.flat().sort((a, b) => a.start - b.start)) {
    if (start - reached > gapNs) found.push([reached, start - reached]);
    reached = Math.max(reached, end);
  }
  return found;
}

/** How many CPUs the threads had in each whole window of time. */
function shares(threads, first, window, end) {
  const found = [];
  for (let from = first; from + window <= end; from += window) found.push(overlap(threads, from, from + window) / window);
  return found;
}

module.exports = { idle, infer, shares };
