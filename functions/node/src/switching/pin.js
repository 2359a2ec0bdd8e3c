'use strict';
// Node.js has no call that says where a thread may run; util-linux has a program.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { text } = require('../files');

/** The kernel's number of the calling thread; null where /proc does not say. */
function threadId() {
  try {
    return Number(fs.readlinkSync('/proc/thread-self').split('/').pop());
  } catch {
    return null;
  }
}

/** The CPU that the calling thread runs on: field 39 of proc(5), counted after the name, which may have spaces. */
function currentCpu() {
  const stat = fs.readFileSync('/proc/thread-self/stat', 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[36]);
}

/** Numbers of the CPUs that this process may run on; none where /proc does not say. */
function allowedCpus() {
  const list = text('/proc/self/status').match(/^Cpus_allowed_list:\s*(.*)$/m)?.[1] ?? '';
  return (list.match(/\d+(-\d+)?/g) ?? []).flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

/** Lets these threads run on one CPU only: { cpu, why, undo }. Why says why not. */
function pin(threads) {
  const moved = [];
  const undo = () => moved.forEach(({ thread, cpus }) => taskset('-p', '-c', cpus, String(thread)));
  try {
    const cpu = currentCpu();
    for (const thread of threads) {
      const cpus = fs.readFileSync(`/proc/${thread}/status`, 'utf8').match(/^Cpus_allowed_list:\s*(.*)$/m)[1];
      taskset('-p', '-c', String(cpu), String(thread));
      moved.push({ thread, cpus });
    }
    return { cpu, why: null, undo };
  } catch (error) {
    undo();
    const why = error.code === 'ENOENT' ? 'Node.js has no call for it, and there is no taskset here' : `taskset: ${error.message.split('\n')[0]}`;
    return { cpu: null, why, undo: () => {} };
  }
}

const taskset = (...options) => execFileSync('taskset', options, { stdio: ['ignore', 'ignore', 'pipe'] });

module.exports = { allowedCpus, currentCpu, pin, threadId };
