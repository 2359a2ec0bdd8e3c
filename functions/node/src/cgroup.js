'use strict';
// The cgroup's own numbers, versions 1 and 2.

const path = require('node:path');
const { firstLine, text, whole } = require('./files');

/** More means no limit: version 1 says "none" by a number near 2^63. */
const LARGEST_LIMIT = 2 ** 60;

/** The CPU quota that this process is under and what it has cost so far; null where no cgroup can be read. */
function quota(root) {
  const directories = groups(root, 'cpu');
  return directories.length > 0 ? limited(directories, quotaV1) : limited(groups(root, ''), quotaV2);
}

/** What it has cost since an earlier reading. */
function since(before, after) {
  if (!before || !after || before.source !== after.source) return after;
  const less = (name) => (after[name] === null || before[name] === null ? null : Math.max(0, after[name] - before[name]));
  return { ...after, periods: less('periods'), periods_throttled: less('periods_throttled'), throttled_ns: less('throttled_ns') };
}

// The innermost group that has a quota; without any, the process's own.
function limited(directories, read) {
  const found = directories.map(read).filter((group) => group !== null);
  return found.find((group) => group.quota_ns !== null) ?? found[0] ?? null;
}

function quotaV1(directory) {
  const period = whole(firstLine(directory, 'cpu.cfs_period_us'), 1000);
  if (period === null) return null;
  return { version: 1, period_ns: period, quota_ns: whole(firstLine(directory, 'cpu.cfs_quota_us'), 1000), ...costs(directory, 'throttled_time', 1) };
}

function quotaV2(directory) {
  const [limit, period] = firstLine(directory, 'cpu.max').split(' ');
  if (period === undefined) return null;
  return { version: 2, period_ns: whole(period, 1000), quota_ns: whole(limit, 1000), ...costs(directory, 'throttled_usec', 1000) };
}

function costs(directory, throttled, unit) {
  const source = path.join(directory, 'cpu.stat');
  const counters = Object.fromEntries(text(source).split('\n').map((line) => line.split(' ')));
  return {
    periods: whole(counters.nr_periods),
    periods_throttled: whole(counters.nr_throttled),
    throttled_ns: whole(counters[throttled], unit),
    source,
  };
}

/** The tightest memory limit of this process's groups in bytes, or null. */
function memoryLimit(root) {
  const limits = [
    ...groups(root, 'memory').map((directory) => whole(firstLine(directory, 'memory.limit_in_bytes'))),
    ...groups(root, '').map((directory) => whole(firstLine(directory, 'memory.max'))),
  ].filter((limit) => limit !== null && limit < LARGEST_LIMIT);
  return limits.length > 0 ? Math.min(...limits) : null;
}

// Directories of this process's cgroup and those above it, innermost first: of a controller of version 1, or of version 2 for ''.
function groups(root, controller) {
  const own = text(root, 'proc/self/cgroup')
    .split('\n')
    .map((line) => line.match(/^\d+:([^:]*):(.*)$/))
    .find((parts) => parts && parts[1].split(',').includes(controller))?.[2];
  if (own === undefined) return [];
  for (const line of text(root, 'proc/self/mountinfo').split('\n')) {
    const [mount, kind] = line.split(' - ').map((half) => half.split(' '));
    if (!kind || mount.length < 5 || !holds(kind, controller)) continue;
    // Inside a container the mount begins at its own group.
    const top = mount[3].replace(/\/$/, '');
    return upwards(path.join(root, mount[4]), own.startsWith(top) ? own.slice(top.length) : '');
  }
  return [];
}

function holds(kind, controller) {
  if (controller === '') return kind[0] === 'cgroup2';
  return kind[0] === 'cgroup' && kind[kind.length - 1].split(',').includes(controller);
}

function upwards(top, inner) {
  const directories = [];
  for (let at = path.join('/', inner); ; at = path.dirname(at)) {
    directories.push(path.join(top, at));
    if (at === '/') return directories;
  }
}

module.exports = { memoryLimit, quota, since };
