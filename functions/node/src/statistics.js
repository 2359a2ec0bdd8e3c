'use strict';
// Sums up batches without assuming that they are normal.

const CONFIDENCE = 0.95;

const ascending = (values) => Float64Array.from(values).sort();
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function median(sorted) {
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle];
  return sorted[middle - 1] + 0.5 * (sorted[middle] - sorted[middle - 1]);
}

function cov(values) {
  const centre = mean(values);
  if (values.length < 2 || centre === 0) return null;
  let squares = 0;
  let drift = 0;
  for (const value of values) {
    squares += (value - centre) ** 2;
    drift += value - centre;
  }
  const n = values.length;
  return Math.sqrt(Math.max(0, squares - (drift * drift) / n) / (n - 1)) / Math.abs(centre);
}

/**
 * The largest rank r, counted from 1, such that the values at r and n + 1 - r hold the median with the confidence. Source:
 * Conover, "Practical Nonparametric Statistics" (1999), 3.2. 0 when there is none, below 6 values.
 */
function medianRank(n) {
  let inside = 1;
  let rank = 0;
  // The chance of k values below the median, by the exact binomial; its logarithm, so that nothing underflows.
  let logChance = -n * Math.LN2;
  for (let k = 0; 2 * k < n; k++) {
    inside -= 2 * Math.exp(logChance);
    if (inside < CONFIDENCE - 1e-12) break;
    rank = k + 1;
    logChance += Math.log((n - k) / (k + 1));
  }
  return rank;
}

/** The estimate of at least one value. Below 6 the interval is the range, with the confidence that it has. */
function estimate(values) {
  const sorted = ascending(values);
  const n = sorted.length;
  const rank = medianRank(n);
  return {
    median: median(sorted),
    low: sorted[rank > 0 ? rank - 1 : 0],
    high: sorted[rank > 0 ? n - rank : n - 1],
    confidence: rank > 0 ? CONFIDENCE : 1 - 2 ** (1 - n),
    mean: mean(values),
    minimum: sorted[0],
    cov: cov(values),
    n,
  };
}

/** Whether the wider side of the interval is within this fraction of the median. */
function narrow(found, fraction) {
  const wider = Math.max(found.high - found.median, found.median - found.low);
  return found.n >= 6 && found.median !== 0 && wider <= fraction * Math.abs(found.median);
}

/** The correlation of each value with the next: Box and Jenkins (1970), 2.1.5. Null below 3 values or when all are equal. */
function lag1(values) {
  if (values.length < 3 || values.every((value) => value === values[0])) return null;
  const centre = mean(values);
  let total = 0;
  let shared = 0;
  for (let i = 0; i < values.length; i++) {
    total += (values[i] - centre) ** 2;
    if (i > 0) shared += (values[i - 1] - centre) * (values[i] - centre);
  }
  return total > 0 ? shared / total : null;
}

module.exports = { ascending, estimate, lag1, mean, median, narrow };
