'use strict';
// Processes joined by named pipes; this one is the first. Each adds its process id to the token, and the sum is checked.

const { fork } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const cgroup = require('../cgroup');
const fifos = require('./fifos');
const counts = require('./counts');

const TASK = path.join(__dirname, 'ring_task.js');
/** What a further Node.js takes: without a place for it, the function would be killed. */
const BYTES_PER_TASK = 45 * 2 ** 20;

async function open(request) {
  const n = request.ring_tasks;
  refuseWithoutMemory(n);
  const pipes = fifos.make(2 * n);
  const ring = pipes.files.slice(0, n);
  const alone = pipes.files.slice(n);
  const children = [];
  const token = Buffer.alloc(8);
  const pass = (write, read) => {
    fs.writeSync(write, token, 0, 8);
    fs.readSync(read, token, 0, 8, null);
  };
  const close = async () => {
    // A task ends when its pipe has no writer any more, and so all of them, one after the other, whatever ends this process.
    pipes.close();
    await Promise.all(children.map(ended));
  };
  try {
    for (let i = 1; i < n; i++) children.push(fork(TASK, [pipes.paths[i - 1], pipes.paths[i]], { stdio: 'ignore', execArgv: [] }));
    await Promise.all(children.map(ready));
    pipes.unlink();
  } catch (error) {
    children.forEach((child) => child.kill('SIGKILL'));
    await close();
    throw new Error(`a task of the ring did not start: ${error.message}`);
  }
  const pids = [process.pid, ...children.map((child) => child.pid)];
  const sum = pids.reduce((all, pid) => all + pid, 0);
  const check = { what: 'sum of process ids', expected: 0, found: 0, ok: true };
  const laps = Math.ceil(request.switches_per_batch / n);
  return {
    tasks: 'processes',
    task_count: n,
    baseline: `one process, ${n} named pipes`,
    switches: laps * n,
    threads: pids.slice(1),
    counts: () => counts.of(pids),
    // Reading all these files takes longer than a batch.
    countsCost: true,
    check,
    gross() {
      for (let i = 0; i < laps; i++) {
        token.writeDoubleLE(process.pid, 0);
        pass(ring[0], ring[n - 1]);
        check.expected += sum;
        check.found += token.readDoubleLE(0);
      }
      check.ok = check.expected === check.found;
    },
    around() {
      for (let i = 0; i < laps; i++) for (const file of alone) pass(file, file);
    },
    stop: close,
  };
}

function refuseWithoutMemory(tasks) {
  const limit = cgroup.memoryLimit('/');
  const needed = process.memoryUsage.rss() + (tasks - 1) * BYTES_PER_TASK;
  if (limit !== null && needed > limit) {
    const mb = (bytes) => Math.round(bytes / 2 ** 20);
    throw new Error(`${tasks} processes of Node.js need about ${mb(needed)} MB, and the limit is ${mb(limit)} MB`);
  }
}

function ready(child) {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new Error(`it ended with ${signal ?? code}`)));
  });
}

function ended(child) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return undefined;
  return new Promise((resolve) => child.once('exit', resolve));
}

module.exports = { open };
