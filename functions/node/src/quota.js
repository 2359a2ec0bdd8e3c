'use strict';
// Finds period and quota in what spinning threads ran. A throttled thread begins to run again when its quota is refilled, at the boundary
// of a period; a preempted one at any time. An interval is { start, end, cpu } in ns, without a gap. `cpu` is the spinner's CPU time at its
// start, null where it was not asked for.

/** How far from a period's boundary a throttled thread may begin to run again: others may have its CPU just then. */
const JITTER_NS = 2e6;
/** The same as a part of the period. */
const JITTER_PART = 16;
/** After a long gap it may be later, by this part of the gap, up to a tick of the kernel and a little. */
const LATE_PART = 10;
const LATEST_NS = 5e6;
/** Periods looked for: from 1 s, the kernel's longest, to 10 ms. Shorter ones are the ticks at which others preempt. */
const LOWEST_HZ = 1;
const HIGHEST_HZ = 100;
/** Of the best agreement with any period: what a longer period must reach to be taken instead. */
const NEARLY_BEST = 0.7;
/** Of what most periods ran: less is not the quota. */
const LEAST_RAN = 0.75;
/** This many accidents in all trials are accepted. */
const ACCIDENT = 0.01;
/** The kernel takes no quota below 1 ms (kernel/sched/core.c: min_cfs_quota_period); the inferred quota may be a little less than the one that is set. */
const SMALLEST_NS = 0.9e6;
/** As well as quotas are inferred. */
const NEAR = 0.02;
/** What a CPU may run beyond its quota once, however long one looks: a slice that it holds (sched_cfs_bandwidth_slice), or a tick that is owed. */
const KEPT_NS = 5e6;
const NO_PERIOD = 'no gaps end together with any period: hardly anything was throttled';

/** { period, quota, throttled, gaps, periods, first, why: null }, or only { why }, in one line, when there is none. */
function infer(threads) {
  const gaps = gapsOf(threads);
  const typical = typicalLength(gaps);
  // Being preempted is shorter than being throttled, on a busy machine much oftener too: then only the longest gaps tell.
  for (const part of [0.25, 1, 2, 4]) {
    const grid = gridOf(gaps.filter((gap) => gap.length >= part * typical));
    const found = grid && measure(grid, threads, gaps);
    if (found) return found;
  }
  return { why: NO_PERIOD };
}

// Of all threads, by their ends.
function gapsOf(threads) {
  const gaps = threads.flatMap((intervals) =>
    intervals.slice(1).map(({ start: end, cpu }, i) => ({ start: intervals[i].end, end, length: end - intervals[i].end, cpu })),
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

  /** Whether a gap ends with a period, or so little after it that others had the CPU just then. */
  ends(gap) {
    const after = gap.end - this.boundary(this.index(gap.end));
    return after >= -this.tolerance && after <= Math.max(this.tolerance, Math.min(LATEST_NS, gap.length / LATE_PART));
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

// Whether as many ends would hardly be near boundaries by accident. It is the binomial chance, for every end as the first and every
// frequency that could have been found.
function significant(grid, gaps) {
  let [n, near, last] = [0, 0, -Infinity];
  for (const gap of gaps) {
    // Several threads are let go at one boundary, which is one moment.
    if (gap.end - last <= 2 * grid.tolerance) continue;
    n += 1;
    near += grid.ends(gap) ? 1 : 0;
    last = gap.end;
  }
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
  const throttles = gaps.filter((gap) => grid.ends(gap));
  for (const gap of throttles) {
    const last = grid.index(gap.end);
    ends.add(last);
    for (let k = Math.ceil((gap.start - grid.phase) / grid.period); k < last; k++) within.add(k);
  }
  const order = [...ends].sort((a, b) => a - b);
  const all = order[order.length - 1] - order[0];
  // Time that was overrun before the spinning is owed in the first period.
  if (order.length > 4) order.shift();
  const cpus = threads.map((intervals) => cpuAtBoundaries(grid, intervals));
  const ranBetween = (from, to) =>
    threads.reduce((sum, intervals, i) => {
      const cpu = cpus[i];
      const known = cpu.has(from) && cpu.has(to);
      return sum + (known ? cpu.get(to) - cpu.get(from) : overlap([intervals], grid.boundary(from), grid.boundary(to)));
    }, 0);
  const segments = [];
  for (let i = 1; i < order.length; i++) {
    const [from, to] = [order[i - 1], order[i]];
    const between = Array.from({ length: to - from - 1 }, (_, offset) => from + 1 + offset);
    if (!between.every((k) => within.has(k))) continue;
    segments.push({ ran: ranBetween(from, to), periods: to - from });
  }
  const { ran, periods } = usedUp(segments);
  if (periods === 0 || 2 * periods < all) return null;
  const [from, to] = [order[0], order[order.length - 1]];
  const why = whyNot(ran / periods, grid.period, ranBetween(from, to), to - from, threads.length);
  if (why !== null) return { why };
  return {
    why,
    period: grid.period,
    quota: ran / periods,
    throttled: throttles.reduce((sum, gap) => sum + gap.length, 0),
    gaps: throttles.length,
    periods: all,
    first: grid.boundary(order[0]),
  };
}

// Why what gaps tell can be no quota of the kernel's, or null. The same in every language. The running time is of all threads over these
// periods, also those that did not use the quota up. A quota holds for each of them, and a CPU owes what it runs beyond it once.
function whyNot(quota, period, ran, periods, threads) {
  const ms = (ns) => `${(ns / 1e6).toFixed(3)} ms`;
  const said = `gaps end together every ${ms(period)}, but a quota of ${ms(quota)}`;
  if (quota < SMALLEST_NS) return `${said} is below the kernel's smallest, 1 ms: other programs had the CPU`;
  if (ran > (1 + NEAR) * quota * periods + KEPT_NS * threads) {
    return `${said} would not have let ${ms(ran / periods)} run in each: other programs had the CPU`;
  }
  return null;
}

// Adds up, without those that ran much less than most: others took their time, and a gap of theirs ended with the period.
function usedUp(segments) {
  const rates = segments.map(({ ran, periods }) => ran / periods).sort((a, b) => a - b);
  const middle = rates[rates.length >> 1];
  const kept = segments.filter(({ ran, periods }) => ran / periods >= LEAST_RAN * middle);
  const sum = (name) => kept.reduce((all, segment) => all + segment[name], 0);
  return { ran: sum('ran'), periods: sum('periods') };
}

// The spinner's CPU time: what the quota was charged with, other threads' and the kernel's part in it that it does not see.
function cpuAtBoundaries(grid, intervals) {
  const at = new Map();
  for (const gap of gapsOf([intervals])) {
    if (gap.cpu === null || !grid.ends(gap)) continue;
    const k = grid.index(gap.end);
    if (!(at.get(k) <= gap.cpu)) at.set(k, gap.cpu);
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
