'use strict';
// The median and how well it is known: enough to know when to stop. The statistics of an answer are made where it is read (crates/faas).

/** With fewer values no pair of order statistics holds the median with 95 %. */
const LEAST = 6;

const ascending = (values) => Float64Array.from(values).sort();

function median(sorted) {
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Whether the wider side of the median's 95 % interval is within this part of it; ranks by the normal approximation (Conover 1999, 3.2). */
function narrow(values, part) {
  const n = values.length;
  if (n < LEAST) return false;
  const sorted = ascending(values);
  const middle = median(sorted);
  const rank = Math.max(1, Math.floor((n - 1.96 * Math.sqrt(n)) / 2));
  return middle !== 0 && Math.max(sorted[n - rank] - middle, middle - sorted[rank - 1]) <= part * Math.abs(middle);
}

module.exports = { ascending, median, narrow };
