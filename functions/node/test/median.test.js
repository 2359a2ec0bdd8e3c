'use strict';
const test = require('node:test');
const assert = require('node:assert/strict');
const { ascending, median, narrow } = require('../src/median');

test('the median, and how well it is known', () => {
  assert.equal(median(ascending([3, 1, 2])), 2);
  assert.equal(median(ascending([4, 1, 3, 2])), 2.5);
  const steady = Array.from({ length: 20 }, (_, i) => 1000 + i);
  assert.ok(narrow(steady, 0.01) && !narrow(steady, 0.001) && !narrow(steady.slice(0, 5), 0.5));
});
