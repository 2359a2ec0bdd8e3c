'use strict';
// When spinners ran: the raw timeline, from which the quota is inferred where the answer is read (crates/faas).

const { spin } = require('./spin');

/** { cpu, throttling } of the document, without the platform's own numbers; and the usages of spinning processes. */
async function throttling(request, unavailable) {
  const without = (why) => {
    unavailable.push({ what: 'cpu', why }, { what: 'throttling.spun', why });
    return { cpu: null, throttling: { spun: null, platform: null }, usages: [] };
  };
  if (request.spin_ms === 0) return without('the request has spin_ms 0');
  let spun;
  try {
    spun = await spin(request.spinners, request.spin_ms, request.pin);
  } catch (error) {
    return without(`nothing can spin: ${error.message}`);
  }
  const { threads, wall, from, usages } = spun;
  return {
    cpu: { received: spun.cpu / wall, spun_ns: Math.round(spun.cpu), spinners: request.spinners },
    throttling: { spun: { span_ns: Math.round(wall), from, others_cpus: 0, intervals: threads }, platform: null },
    usages,
  };
}

module.exports = { throttling };
