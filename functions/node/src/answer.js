'use strict';
// The measurement inside a function, from the request to the document swtch/faas/2. Null has its reason in `unavailable`.

const { performance } = require('node:perf_hooks');
const cgroup = require('./cgroup');
const clock = require('./clock');
const host = require('./host');
const { platform } = require('./platform');
const { measureAll } = require('./switching/measure');
const { throttling } = require('./throttling');
const { work } = require('./work');

/** Of the handlers, all languages alike. */
const VERSION = '0.1.0';
const ROOT = '/';

let invocations = 0;
let last = Promise.resolve();

/**
 * Measures. The id is the platform's name of the invocation, if it has one. `worked` is called when work that was asked for is done. Two
 * measurements at a time would measure each other.
 */
function answer(request, platformName, id, worked = () => {}) {
  const mine = last.then(() => document(request, platformName, id, worked));
  last = mine.catch(() => {});
  return mine;
}

async function document(request, platformName, id, done) {
  invocations += 1;
  const began = process.resourceUsage();
  const begin = clock.now();
  const quota = cgroup.quota(ROOT);
  const unavailable = [];
  const head = {
    schema: 'swtch/faas/2',
    created_at: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    handler: { version: VERSION, language: 'node', runtime: 'V8', runtime_version: process.versions.node, libc: host.libc() },
    platform: platform(platformName),
    invocation: { number: invocations, cold: invocations === 1, id: id || null, process_age_ns: Math.round(performance.now() * 1e6) },
    host: host.read(ROOT, platformName, unavailable),
    request,
  };
  const gvisor = head.host.sandbox === 'gvisor';
  const measurements = await measureAll(request, gvisor, unavailable);
  const described = clock.describe();
  const { usages, ...spun } = await throttling(request, unavailable);
  const worked = request.work_ms > 0 || request.iterations > 0 ? work(request.work_ms, request.iterations, done) : null;
  spun.throttling.platform = cgroup.since(quota, cgroup.quota(ROOT));
  if (!spun.throttling.platform) {
    unavailable.push({ what: 'throttling.platform', why: 'no cgroup with the cpu controller can be read' });
  }
  const used = usage(began, begin, usages, request.methods.includes('ring'), gvisor, unavailable);
  return { ...head, measurements, clock: described, ...spun, work: worked, usage: used, unavailable };
}

// With that of spinning processes, which say it themselves.
function usage(before, begin, children, ring, gvisor, unavailable) {
  const after = process.resourceUsage();
  const less = (name) => children.reduce((sum, child) => sum + child[name], after[name] - before[name]);
  const voluntary = less('voluntaryContextSwitches');
  const involuntary = less('involuntaryContextSwitches');
  // The threads of a runtime cannot have waited never.
  const told = voluntary + involuntary > 0;
  if (!told) unavailable.push({ what: 'usage.voluntary', why: 'getrusage does not say' });
  if (!told || gvisor) unavailable.push({ what: 'usage.involuntary', why: gvisor ? 'gVisor always says 0' : 'getrusage does not say' });
  if (ring) unavailable.push({ what: 'usage.cpu_ns', why: 'without the tasks of the ring: Node.js does not say what its child processes used' });
  return {
    wall_ns: Math.round(clock.now() - begin),
    cpu_ns: (less('userCPUTime') + less('systemCPUTime')) * 1000,
    voluntary: told ? voluntary : null,
    involuntary: told && !gvisor ? involuntary : null,
    max_rss_bytes: Math.max(after.maxRSS, ...children.map((child) => child.maxRSS)) * 1024,
  };
}

module.exports = { VERSION, answer };
