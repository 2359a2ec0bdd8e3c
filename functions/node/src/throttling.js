'use strict';
// What the function received of the CPUs, and the quota that its gaps tell.

const { GAP_NS, spin } = require('./spin');
const { idle, infer, shares } = require('./quota');
const { estimate } = require('./statistics');

const MOST_GAPS = 2000;
/** Without a period to be found, shares are of this many windows. */
const WINDOWS = 10;

/** { cpu, throttling } of the document, without the platform's own numbers; and the usages of spinning processes. */
async function throttling(request, unavailable) {
  const nothing = { cpu: null, throttling: { inferred: null, platform: null, gaps: [], gaps_left_out: 0 }, usages: [] };
  const without = (why) => {
    unavailable.push({ what: 'cpu', why }, { what: 'throttling.inferred', why });
    return nothing;
  };
  if (request.spin_ms === 0) return without('the request has spin_ms 0');
  let spun;
  try {
    spun = await spin(request.spinners, request.spin_ms, request.pin);
  } catch (error) {
    return without(`nothing can spin: ${error.message}`);
  }
  const told = infer(spun.threads);
  const found = told.why === null ? told : null;
  const [gaps, left] = longest(idle(spun.threads, GAP_NS));
  const windows = shares(spun.threads, found?.first ?? 0, found?.period ?? spun.wall / WINDOWS, spun.wall);
  if (windows.length === 0) unavailable.push({ what: 'cpu.share', why: 'the spinning was shorter than a period' });
  return {
    cpu: { share: windows.length > 0 ? estimate(windows) : null, spun_ns: Math.round(spun.cpu), spinners: request.spinners },
    throttling: { inferred: inferred(found, told.why, spun, unavailable), platform: null, gaps, gaps_left_out: left },
    usages: spun.usages,
  };
}

function inferred(found, why, spun, unavailable) {
  if (!found) for (const name of ['period_ns', 'quota_ns']) unavailable.push({ what: `throttling.inferred.${name}`, why });
  return {
    period_ns: found?.period ?? null,
    quota_ns: found?.quota ?? null,
    cpus: found ? found.quota / found.period : spun.cpu / spun.wall,
    throttled_ns: found?.throttled ?? 0,
    gaps: found?.gaps ?? 0,
    periods: found?.periods ?? 0,
    from: spun.from,
  };
}

function longest(gaps) {
  const kept = [...gaps].sort((a, b) => b[1] - a[1]).slice(0, MOST_GAPS);
  return [kept.sort((a, b) => a[0] - b[0]), gaps.length - kept.length];
}

module.exports = { throttling };
