'use strict';
// The standard normal distribution, by Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964).

const density = (z) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);

/** Probability of a value above z: the series 26.2.11 near the centre, the continued fraction 26.2.14 in the tail. */
function upperTail(z) {
  const distance = Math.abs(z);
  const beyond = distance < 3 ? 0.5 - centreMass(distance) : farTail(distance);
  return z < 0 ? 1 - beyond : beyond;
}

function centreMass(z) {
  let term = z;
  let sum = z;
  for (let divisor = 3; term > sum * 1e-17; divisor += 2) {
    term *= (z * z) / divisor;
    sum += term;
  }
  return density(z) * sum;
}

function farTail(z) {
  let fraction = 0;
  for (let level = 60; level >= 1; level--) fraction = level / (z + fraction);
  return density(z) / (z + fraction);
}

/** The value that is exceeded with the probability 1 - p: 26.2.23, then Halley's method. */
function quantile(p) {
  const tail = Math.min(p, 1 - p);
  const t = Math.SQRT2 * Math.sqrt(-Math.log(tail));
  const over = 2.515517 + t * (0.802853 + t * 0.010328);
  const under = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
  let z = t - over / under;
  for (let i = 0; i < 2; i++) {
    const step = (upperTail(z) - tail) / density(z);
    z += step / (1 - 0.5 * z * step);
  }
  return p < 0.5 ? -z : z;
}

module.exports = { quantile, upperTail };
