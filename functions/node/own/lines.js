'use strict';
// node lines.js MODULE:FUNCTION --lines: a user's own function, a line of standard input for each call. `swtch faas` runs it so; functions/README.md
// has the protocol. What the function prints goes to standard error, so that it does not come between the answers.

const fs = require('node:fs');
const readline = require('node:readline');
const { call, failure, load } = require('./call');

process.stdout.write = process.stderr.write.bind(process.stderr);

function say(answer) {
  let rest = Buffer.from(`${JSON.stringify(answer)}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(1, rest));
    } catch (error) {
      // The pipe is full.
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/** What the process and its threads took so far. */
function usage() {
  const { userCPUTime, systemCPUTime, voluntaryContextSwitches, involuntaryContextSwitches } = process.resourceUsage();
  return { cpu_ns: (userCPUTime + systemCPUTime) * 1000, voluntary: voluntaryContextSwitches, involuntary: involuntaryContextSwitches };
}

async function answer(called, why, line) {
  if (called === undefined) return say({ status: 500, document: failure(why) });
  const before = usage();
  const begun = process.hrtime.bigint();
  const { status, document } = await call(called, JSON.parse(line));
  const wall = Number(process.hrtime.bigint() - begun);
  if (status !== 200) return say({ status, document });
  // Reading the CPU time makes the kernel charge it, so that the answer comes first.
  say({ status, document, more: true });
  const after = usage();
  const cpu = after.cpu_ns - before.cpu_ns;
  return say({
    wall_ns: wall,
    cpu_ns: cpu,
    usage: {
      wall_ns: wall,
      cpu_ns: cpu,
      voluntary: after.voluntary - before.voluntary,
      involuntary: after.involuntary - before.involuntary,
      max_rss_bytes: process.resourceUsage().maxRSS * 1024,
    },
  });
}

async function main() {
  let called;
  let why;
  try {
    called = await load(process.argv[2] ?? '');
  } catch (error) {
    why = error.message;
  }
  let last = Promise.resolve();
  const lines = readline.createInterface({ input: process.stdin, terminal: false });
  lines.on('line', (line) => {
    last = last.then(() => answer(called, why, line));
  });
  // The function may keep timers or connections open.
  lines.on('close', () => last.then(() => process.exit(0)));
  say({ ready: true });
}

main();
