'use strict';
// Keeps threads busy, each reading the clock: this file is also what each of them runs.

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const clock = require('./clock');

/** A jump of the clock beyond this is a gap: interrupts are shorter. */
const GAP_NS = 200_000;
/** How often the kernel is made to charge the running time: Node.js has no sched_yield, but asking for the CPU time does it too. */
const CHARGE_NS = 100_000;

/** What so many threads ran in so much time: { threads, wall, cpu } in ns from the beginning. */
async function spin(spinners, ms) {
  const workers = Array.from({ length: spinners }, () => new Worker(__filename, { workerData: __filename }));
  try {
    await Promise.all(workers.map((worker) => message(worker)));
    const begin = clock.now();
    for (const worker of workers) worker.postMessage({ begin, end: begin + ms * 1e6 });
    const spun = await Promise.all(workers.map((worker) => message(worker)));
    // A spinner may have been stopped just before its end.
    const wall = Math.max(...spun.map(({ ended }) => ended)) - begin;
    return { threads: spun.map(({ stretches }) => stretches), wall, cpu: Math.max(...spun.map(({ cpu }) => cpu)) };
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

function message(worker) {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`a spinning thread ended with ${code}`)));
  });
}

function spinOne({ begin, end }) {
  const stretches = [];
  const cpuBefore = clock.cpuNs();
  let last = clock.now();
  let charged = last;
  let start = last;
  let cpu = cpuBefore;
  const close = () => stretches.push({ start: Math.round(start - begin), end: Math.round(last - begin), cpu });
  while (last < end) {
    const now = clock.now();
    if (now - last > GAP_NS) {
      close();
      start = now;
      cpu = clock.cpuNs();
    }
    last = now;
    if (now - charged > CHARGE_NS) {
      clock.cpuNs();
      charged = now;
    }
  }
  close();
  return { stretches, ended: last, cpu: clock.cpuNs() - cpuBefore };
}

if (!isMainThread && workerData === __filename) {
  parentPort.once('message', (times) => parentPort.postMessage(spinOne(times)));
  parentPort.postMessage('ready');
}

module.exports = { GAP_NS, spin };
