'use strict';
// Keeps processes or threads busy, each reading the clock: this file is also what each of them runs.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const cgroup = require('./cgroup');
const clock = require('./clock');
const { allowedCpus, currentCpu } = require('./switching/pin');

/** A jump of the clock beyond this is a gap: interrupts are shorter. */
const GAP_NS = 200_000;
/** How often the kernel is made to charge the running time: Node.js has no sched_yield, but asking for the CPU time does it too. */
const CHARGE_NS = 100_000;
/** Of a process that spins, without which it is not one. */
const TASK = 'swtch-spinner';
/** V8's threads would be charged to the quota on other CPUs, of which each keeps some: a spinner does without them. */
const OPTIONS = ['--single-threaded', '--v8-pool-size=0'];
/** What a further Node.js takes: without a place for it, the function would be killed. */
const BYTES_PER_PROCESS = 45 * 2 ** 20;
/** Intervals of all spinners; with more of them spinning ends early. */
const MOST_INTERVALS = 20_000;
/** For all to have read when to begin. */
const START_NS = 5e6;
/** Spinning before it counts, in CPU time. */
const WARM_UP_NS = 20e6;

/**
 * What this many spinners ran in this time: { threads, wall, cpu, from, usages } in ns from the beginning. Processes, each on a CPU of its
 * own when they are as many as the CPUs. A single one is where this process is. Threads of this process where there can be none.
 */
async function spin(spinners, ms, pinned) {
  const attempts = [
    ...(pinned ? [{ what: 'processes', start: () => processes(spinners, true) }] : []),
    { what: 'processes', start: () => processes(spinners, false), without: 'not pinned' },
    { what: 'threads', start: () => threads(spinners), without: 'no processes' },
  ];
  let why = null;
  for (const { what, start, without } of attempts) {
    try {
      const spun = await spinIn(spinners, ms, start);
      const from = `gaps of ${spinners} spinning ${what} over ${(spun.wall / 1e9).toFixed(2)} s`;
      return { ...spun, from: why === null ? from : `${from}; ${without}: ${why}` };
    } catch (error) {
      why = error.path === 'taskset' ? 'there is no taskset here' : error.message.split('\n')[0];
    }
  }
  throw new Error(why);
}

// Spinners are { ask, answer, end }: an answer is the next thing that it says.
async function spinIn(spinners, ms, start) {
  const started = start();
  try {
    await Promise.all(started.map((each) => each.answer()));
    const begin = clock.now() + START_NS;
    const most = Math.floor(MOST_INTERVALS / spinners);
    for (const each of started) each.ask({ begin, end: begin + ms * 1e6, most });
    const spun = await Promise.all(started.map((each) => each.answer()));
    // A spinner may have been stopped just before its end.
    const wall = Math.max(...spun.map(({ ended }) => ended)) - begin;
    return { threads: spun.map(({ intervals }) => intervals), wall, ...costs(spun) };
  } finally {
    await Promise.all(started.map((each) => each.end()));
  }
}

// CPU time of all, and what processes used beside this one from their beginning.
function costs(spun) {
  const usages = spun.map(({ usage }) => usage).filter((usage) => usage);
  // That of threads is of all of them, each time.
  const cpu = usages.length > 0 ? spun.reduce((sum, each) => sum + each.cpu, 0) : Math.max(...spun.map((each) => each.cpu));
  return { cpu, usages };
}

function threads(spinners) {
  return Array.from({ length: spinners }, () => {
    const worker = new Worker(__filename, { workerData: TASK });
    const failed = new Promise((_, reject) => {
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`a spinning thread ended with ${code}`)));
    });
    failed.catch(() => {});
    return {
      ask: (times) => worker.postMessage({ ...times, alone: spinners === 1 }),
      answer: () => Promise.race([failed, new Promise((resolve) => worker.once('message', resolve))]),
      end: () => worker.terminate(),
    };
  });
}

function processes(spinners, pinned) {
  refuseWithoutMemory(spinners);
  const allowed = allowedCpus();
  const place = (i) => (!pinned ? null : spinners === allowed.length ? allowed[i] : spinners === 1 ? currentCpu() : null);
  return Array.from({ length: spinners }, (_, i) => spinner(place(i)));
}

function refuseWithoutMemory(spinners) {
  const limit = cgroup.memoryLimit('/');
  const needed = process.memoryUsage.rss() + spinners * BYTES_PER_PROCESS;
  if (limit !== null && needed > limit) {
    const mb = (bytes) => Math.round(bytes / 2 ** 20);
    throw new Error(`with ${spinners} more Node.js needs about ${mb(needed)} MB, and the limit is ${mb(limit)} MB`);
  }
}

// A process that writes a line when it has started, reads a line, and writes a line of what it saw.
function spinner(cpu) {
  const command = [process.execPath, ...OPTIONS, __filename, TASK];
  const [program, ...options] = cpu === null ? command : ['taskset', '-c', String(cpu), ...command];
  // What a platform adds for its own Node.js is not for this one.
  const { NODE_OPTIONS, ...env } = process.env;
  const child = spawn(program, options, { stdio: ['pipe', 'pipe', 'ignore'], env });
  const ended = new Promise((resolve) => {
    child.once('close', (code, signal) => resolve(new Error(`a spinner ended with ${signal ?? code}`)));
    child.once('error', resolve);
  });
  // `ended` reports its end.
  child.stdin.on('error', () => {});
  let text = '';
  let told = () => {};
  child.stdout.setEncoding('utf8').on('data', (part) => {
    text += part;
    told();
  });
  const line = () =>
    new Promise((resolve) => {
      told = () => {
        const end = text.indexOf('\n');
        if (end < 0) return;
        told = () => {};
        const first = text.slice(0, end);
        text = text.slice(end + 1);
        resolve(JSON.parse(first));
      };
      told();
    });
  return {
    ask: (times) => child.stdin.write(`${JSON.stringify(times)}\n`),
    answer: () => Promise.race([line(), ended.then((error) => Promise.reject(error))]),
    end() {
      child.kill('SIGKILL');
      return ended;
    },
  };
}

/**
 * Intervals [start, end, CPU time that was charged for it], in ns from the beginning. Other than in a process of its own, other spinners use
 * its CPU time too: then without it.
 */
function spinOne({ begin, end, most = Infinity, alone = true }) {
  const intervals = [];
  const parent = process.ppid;
  while (clock.now() < begin);
  const cpuBefore = clock.cpuNs();
  let last = clock.now();
  let charged = last;
  let start = last;
  let cpu = cpuBefore;
  const close = (cpuNow) => {
    intervals.push([start, last].map((at) => Math.round(at - begin)).concat(alone ? [cpuNow - cpu] : []));
    cpu = cpuNow;
  };
  while (last < end && intervals.length < most) {
    const now = clock.now();
    if (now - last > GAP_NS) {
      close(clock.cpuNs());
      start = now;
    }
    last = now;
    if (now - charged > CHARGE_NS) {
      clock.cpuNs();
      charged = now;
      // No reader waits for what was seen.
      if (process.ppid !== parent) break;
    }
  }
  close(clock.cpuNs());
  return { intervals, ended: last, cpu: cpu - cpuBefore };
}

// Compiling would be seen as gaps, and so would compiling anew for numbers of another kind: these are like those that are asked for.
function warmUp() {
  const until = clock.cpuNs() + WARM_UP_NS;
  while (clock.cpuNs() < until) {
    const begin = clock.now() + 0.5;
    spinOne({ begin, end: begin + WARM_UP_NS / 4, most: MOST_INTERVALS });
  }
}

// Without the event loop, which would look after its own things meanwhile.
function spinInProcess() {
  warmUp();
  const say = (what) => {
    for (let rest = Buffer.from(`${JSON.stringify(what)}\n`); rest.length > 0; ) rest = rest.subarray(fs.writeSync(1, rest));
  };
  say('ready');
  const line = Buffer.alloc(1000);
  const times = JSON.parse(line.toString('utf8', 0, fs.readSync(0, line)));
  say({ ...spinOne(times), usage: process.resourceUsage() });
}

if (!isMainThread && workerData === TASK) {
  parentPort.once('message', (times) => parentPort.postMessage(spinOne(times)));
  parentPort.postMessage('ready');
} else if (require.main === module && process.argv[2] === TASK) {
  spinInProcess();
}

module.exports = { spin };
