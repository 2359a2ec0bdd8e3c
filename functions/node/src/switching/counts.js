'use strict';
// Switches that the kernel has counted, and whose.

const fs = require('node:fs');
const { text } = require('../files');

/** Of all threads of this process. */
function own() {
  const { voluntaryContextSwitches, involuntaryContextSwitches } = process.resourceUsage();
  return { voluntary: voluntaryContextSwitches, involuntary: involuntaryContextSwitches, by: 'getrusage' };
}

/** Of these processes; null where /proc does not say. */
function of(pids) {
  const sum = { voluntary: 0, involuntary: 0, by: '/proc/self/task/*/status' };
  for (const pid of pids) {
    for (const status of statuses(pid)) {
      const voluntary = status.match(/^voluntary_ctxt_switches:\s*(\d+)/m);
      const involuntary = status.match(/^nonvoluntary_ctxt_switches:\s*(\d+)/m);
      if (!voluntary || !involuntary) return null;
      sum.voluntary += Number(voluntary[1]);
      sum.involuntary += Number(involuntary[1]);
    }
  }
  return sum;
}

function statuses(pid) {
  try {
    return fs.readdirSync(`/proc/${pid}/task`).map((task) => text(`/proc/${pid}/task/${task}/status`));
  } catch {
    return [''];
  }
}

const since = (before, after) =>
  before && after && { voluntary: after.voluntary - before.voluntary, involuntary: after.involuntary - before.involuntary, by: after.by };

module.exports = { of, own, since };
