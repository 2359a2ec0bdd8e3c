'use strict';
const test = require('node:test');
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { estimate, lag1 } = require('../src/statistics');
const { shapiroWilk } = require('../src/normality');
const { infer } = require('../src/quota');

const read = (name) => JSON.parse(fs.readFileSync(path.join(__dirname, '../../vectors', name), 'utf8'));

function near(found, expected, tolerance, what) {
  if (expected === null || found === null) {
    assert.equal(found, expected, what);
    return;
  }
  assert.ok(Math.abs(found - expected) <= tolerance * Math.max(Math.abs(expected), tolerance), `${what}: ${found}, not ${expected}`);
}

for (const vector of read('statistics.json').vectors) {
  test(`figures of ${vector.name}`, () => {
    const found = estimate(vector.samples);
    for (const figure of ['median', 'mean', 'minimum', 'cov']) near(found[figure], vector[figure], 1e-9, figure);
    near(lag1(vector.samples), vector.lag1, 1e-9, 'lag1');
    if (vector.interval) {
      near(found.low, vector.interval.low, 1e-9, 'low');
      near(found.high, vector.interval.high, 1e-9, 'high');
    } else {
      assert.equal(found.confidence, 1 - 2 ** (1 - found.n));
    }
    const normality = shapiroWilk(vector.samples);
    assert.equal(normality === null, vector.shapiro_wilk === null);
    if (normality) for (const figure of ['w', 'p']) near(normality[figure], vector.shapiro_wilk[figure], 1e-6, figure);
  });
}

const gaps = read('gaps.json');
for (const { name, expected, spinners } of gaps.vectors) {
  test(`the quota of ${name}`, () => {
    const found = infer(spinners.map((intervals) => intervals.map(([start, end]) => ({ start, end, cpu: null }))));
    if (expected.period_ns === null) {
      assert.ok(found.why?.includes(expected.why ?? ''), `${found.why}`);
      assert.ok(!found.why.includes('\n'));
      return;
    }
    assert.equal(found.why, null);
    const within = (value, wanted, what) => assert.ok(Math.abs(value / wanted - 1) <= gaps.tolerance, `${what}: ${value}, not ${wanted}`);
    within(found.period, expected.period_ns, 'period');
    within(found.quota, expected.quota_ns, 'quota');
    within(found.quota / found.period, expected.cpus, 'cpus');
  });
}
