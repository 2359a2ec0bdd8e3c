'use strict';
// What it costs to hand the CPU from one task to another, batch by batch, each beside its baseline.

const clock = require('../clock');
const { ascending, median, narrow } = require('../median');
const counts = require('./counts');
const { pin, threadId } = require('./pin');

/** Looking after every batch would stop by luck. */
const LOOK_EVERY = 10;

const openers = { pipe: require('./pipe'), condvar: require('./condvar'), ring: require('./ring') };

/** The methods asked for, one after the other. Methods that cannot be measured are in `unavailable` instead of the answer. */
async function measureAll(request, gvisor, unavailable) {
  const measurements = [];
  for (const method of request.methods) {
    try {
      measurements.push(await measure(method, request, gvisor, `measurements.${measurements.length}`, unavailable));
    } catch (error) {
      unavailable.push({ what: `measurements.${method}`, why: error.message.split('\n')[0] });
    }
  }
  return measurements;
}

async function measure(method, request, gvisor, place, unavailable) {
  const exchange = await openers[method].open(request);
  const missing = [];
  let pinned = { cpu: null, why: null, undo() {} };
  try {
    if (request.pin) pinned = pin([threadId(), ...exchange.threads]);
    if (pinned.why) missing.push({ what: `${place}.cpu`, why: pinned.why });
    const run = repeat(exchange, request);
    const switches = switchesMade(run, exchange.switches, gvisor, place, missing);
    unavailable.push(...missing);
    return {
      method,
      tasks: exchange.tasks,
      task_count: exchange.task_count,
      baseline: exchange.baseline,
      pinned: pinned.cpu !== null,
      cpu: pinned.cpu,
      switches_per_batch: exchange.switches,
      ...summary(run, exchange.switches),
      switches,
      check: exchange.check ?? null,
      batches_ns: { gross: run.gross, baseline: run.around },
    };
  } finally {
    pinned.undo();
    await exchange.stop();
  }
}

function repeat(exchange, request) {
  const run = { gross: [], around: [], made: { voluntary: 0, involuntary: 0 }, stopped_by: 'batch limit' };
  // Warming up: pages, caches, the compiler.
  timed(exchange.gross);
  timed(exchange.around);
  const before = exchange.countsCost ? exchange.counts() : null;
  const end = clock.now() + request.time_limit_ms * 1e6;
  while (run.gross.length < request.max_batches) {
    pair(exchange, run);
    const look = run.gross.length >= request.min_batches && run.gross.length % LOOK_EVERY === 0;
    if (look && narrow(run.gross, request.interval)) {
      run.stopped_by = 'interval';
      break;
    }
    if (clock.now() >= end) {
      run.stopped_by = 'time limit';
      break;
    }
  }
  if (exchange.countsCost) run.made = counts.since(before, exchange.counts());
  return run;
}

// A batch, and its baseline right after it.
function pair(exchange, run) {
  const before = exchange.countsCost ? null : exchange.counts();
  run.gross.push(timed(exchange.gross));
  if (!exchange.countsCost) {
    const made = counts.since(before, exchange.counts());
    run.made = { voluntary: run.made.voluntary + made.voluntary, involuntary: run.made.involuntary + made.involuntary, by: made.by };
  }
  run.around.push(timed(exchange.around));
}

function timed(work) {
  const begin = clock.now();
  work();
  return Math.round(clock.now() - begin);
}

function summary({ gross, around, stopped_by }, switches) {
  const net = gross.map((ns, i) => ns - around[i]);
  return { batches: gross.length, stopped_by, median_ns: median(ascending(net)) / switches };
}

function switchesMade({ gross, made }, switches, gvisor, place, missing) {
  const expected = gross.length * switches;
  if (!made || made.voluntary + made.involuntary === 0) {
    const why = "the kernel's counter did not move although tasks waited for each other";
    for (const name of ['voluntary', 'involuntary']) missing.push({ what: `${place}.switches.${name}`, why });
    return { expected, voluntary: null, involuntary: null, counted_by: null, per_expected: null };
  }
  if (gvisor) missing.push({ what: `${place}.switches.involuntary`, why: 'gVisor always says 0' });
  const involuntary = gvisor ? null : made.involuntary;
  return { expected, voluntary: made.voluntary, involuntary, counted_by: made.by, per_expected: (made.voluntary + (involuntary ?? 0)) / expected };
}

module.exports = { measureAll };
