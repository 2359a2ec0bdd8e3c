'use strict';
// The Shapiro-Wilk test by Royston, "Remark AS R94", Applied Statistics 44 (1995), whose approximations hold up to 5000 values.

const { ascending } = require('./statistics');
const { quantile, upperTail } = require('./normal_distribution');

/** The statistic, and the probability of one as small if the values were normal. Null below 3 values or when all are equal. */
function shapiroWilk(values) {
  const sorted = ascending(values);
  const n = sorted.length;
  if (n < 3 || n > 5000 || sorted[0] === sorted[n - 1]) return null;
  const rest = oneMinusW(sorted, upperWeights(n));
  return { w: 1 - rest, p: significance(rest, n) };
}

// The weights of the upper half, the largest value's first; the lower half has the same with the other sign.
function upperWeights(n) {
  if (n === 3) return [Math.SQRT1_2];
  const scores = Array.from({ length: n >> 1 }, (_, i) => -quantile((i + 0.625) / (n + 0.25)));
  const squares = 2 * scores.reduce((sum, score) => sum + score * score, 0);
  const u = 1 / Math.sqrt(n);
  const norm = Math.sqrt(squares);
  const first = [scores[0] / norm + polynomial(u, [0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056])];
  if (n > 5) first.push(scores[1] / norm + polynomial(u, [0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633]));
  let left = squares;
  let room = 1;
  first.forEach((weight, i) => {
    left -= 2 * scores[i] ** 2;
    room -= 2 * weight ** 2;
  });
  const scale = Math.sqrt(left / room);
  return scores.map((score, i) => (i < first.length ? first[i] : score / scale));
}

// Without the subtraction that would lose digits: W is the squared correlation of values and weights.
function oneMinusW(sorted, upper) {
  const n = sorted.length;
  const spread = sorted[n - 1] - sorted[0];
  const centre = sorted.reduce((sum, value) => sum + value / spread, 0) / n;
  let xx = 0;
  let aa = 0;
  let ax = 0;
  for (let i = 0; i < n; i++) {
    let weight = 0;
    if (i < upper.length) weight = -upper[i];
    else if (n - 1 - i < upper.length) weight = upper[n - 1 - i];
    const deviation = sorted[i] / spread - centre;
    xx += deviation * deviation;
    aa += weight * weight;
    ax += weight * deviation;
  }
  const product = Math.sqrt(xx * aa);
  return Math.min(1, Math.max(0, ((product - ax) * (product + ax)) / (xx * aa)));
}

// Exact for 3 values, else a log-normal approximation of 1 - W.
function significance(rest, n) {
  if (n === 3) return Math.min(1, Math.max(0, (6 / Math.PI) * (Math.asin(Math.sqrt(1 - rest)) - Math.PI / 3)));
  const log = Math.log(rest);
  if (n <= 11) {
    const bound = polynomial(n, [-2.273, 0.459]);
    if (log >= bound) return 0;
    const mean = polynomial(n, [0.544, -0.39978, 0.025054, -6.714e-4]);
    const deviation = Math.exp(polynomial(n, [1.3822, -0.77857, 0.062767, -0.0020322]));
    return upperTail((-Math.log(bound - log) - mean) / deviation);
  }
  const size = Math.log(n);
  const mean = polynomial(size, [-1.5861, -0.31082, -0.083751, 0.0038915]);
  return upperTail((log - mean) / Math.exp(polynomial(size, [-0.4803, -0.082676, 0.0030302])));
}

// Coefficients from the constant term up.
const polynomial = (x, coefficients) => coefficients.reduceRight((sum, coefficient) => sum * x + coefficient, 0);

module.exports = { shapiroWilk };
