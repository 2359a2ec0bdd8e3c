'use strict';
// A fixed amount of work: a number of iterations, or as many as take so much CPU time where nothing interferes.

const clock = require('./clock');

/** A calibration goes on until it has had so much CPU time, several times: what disturbs makes slower only. */
const CALIBRATION_NS = 5e6;
const TIMES = 3;
/** The loop runs several times as fast once the last compiler has it, which a busy machine may delay. */
const MOST_TIMES = 60;
const FASTER = 1.05;
const CHUNK = 20_000;

let perMs = null;
let state = 1;

/**
 * Two processes calibrate differently: only the same number of iterations can be compared. 0 is the number that takes this many ms. `done` is called
 * before the CPU clock is read: at that the kernel charges the work, and under a quota may stop it.
 */
function work(ms, asked, done) {
  if (asked === 0) perMs ??= calibrate();
  const iterations = asked || Math.round(ms * perMs);
  const wall = clock.now();
  const cpu = clock.cpuNs();
  iterate(iterations);
  const wallNs = Math.round(clock.now() - wall);
  done();
  return { asked_ms: ms, wall_ns: wallNs, cpu_ns: clock.cpuNs() - cpu, iterations };
}

function calibrate() {
  let fastest = 0;
  let alike = 0;
  for (let i = 0; i < MOST_TIMES && alike < TIMES; i++) {
    const begin = clock.cpuNs();
    let done = 0;
    let spent = 0;
    while (spent < CALIBRATION_NS) {
      iterate(CHUNK);
      done += CHUNK;
      spent = clock.cpuNs() - begin;
    }
    const found = (done / spent) * 1e6;
    alike = found > FASTER * fastest ? 0 : alike + 1;
    fastest = Math.max(fastest, found);
  }
  return fastest;
}

// Marsaglia's xorshift: each step needs the one before, so that no compiler shortens it.
function iterate(times) {
  let x = state;
  for (let i = 0; i < times; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
  }
  state = x;
}

module.exports = { work };
