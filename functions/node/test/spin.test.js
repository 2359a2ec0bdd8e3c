'use strict';
const test = require('node:test');
const assert = require('node:assert/strict');
const { spin } = require('../src/spin');

const MS = 50;

function check(spun, spinners) {
  assert.equal(spun.threads.length, spinners);
  assert.ok(spun.cpu > 0 && spun.wall >= MS * 1e6);
  for (const intervals of spun.threads) {
    let reached = 0;
    for (const [start, end] of intervals) {
      assert.ok(reached <= start && start <= end);
      reached = end;
    }
  }
}

/** With another value of a variable or property, for the time of a call. */
async function having(object, name, value, call) {
  const before = object[name];
  object[name] = value;
  try {
    return await call();
  } finally {
    object[name] = before;
  }
}

test('processes spin, and say what they used', async () => {
  const spun = await spin(2, MS, false);
  check(spun, 2);
  assert.match(spun.from, /^gaps of 2 spinning processes over 0\.\d\d s$/);
  assert.equal(spun.usages.length, 2);
});

test('without taskset they are not pinned', async () => {
  const spun = await having(process.env, 'PATH', '/nowhere', () => spin(1, MS, true));
  check(spun, 1);
  assert.match(spun.from, /^gaps of 1 spinning processes over 0\.\d\d s; not pinned: there is no taskset here$/);
});

for (const spinners of [1, 2]) {
  test(`where there can be no processes, ${spinners} threads spin`, async () => {
    const spun = await having(process, 'execPath', '/nowhere/node', () => spin(spinners, MS, false));
    check(spun, spinners);
    assert.match(spun.from, /^gaps of \d spinning threads over 0\.\d\d s; no processes: spawn \/nowhere\/node ENOENT$/);
    assert.deepEqual(spun.usages, []);
  });
}
