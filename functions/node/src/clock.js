'use strict';
// CLOCK_MONOTONIC as a number of nanoseconds that all threads share: performance.now() of each thread begins with it.

const { performance } = require('node:perf_hooks');

const origin = Number(process.hrtime.bigint()) - performance.now() * 1e6;

/** Near 2^53 a number has steps of 1 ns; this clock stays far below for months. */
const now = () => origin + performance.now() * 1e6;

/** CPU time of all threads of this process in ns, to 1 us. Asking makes the kernel charge the caller's running time to the quota at once. */
function cpuNs() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

/** How fine its steps are, and what reading it takes. */
function describe() {
  const times = 2000;
  const begin = now();
  let last = begin;
  let finest = Infinity;
  for (let i = 0; i < times; i++) {
    const at = now();
    if (at > last) finest = Math.min(finest, at - last);
    last = at;
  }
  return { resolution_ns: Number.isFinite(finest) ? Math.round(finest) : 0, cost_ns: (last - begin) / times, source: 'CLOCK_MONOTONIC' };
}

module.exports = { cpuNs, describe, now };
