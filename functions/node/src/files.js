'use strict';
// Files of /proc and /sys, which may not be there.

const fs = require('node:fs');
const path = require('node:path');

/** The whole text; empty where it cannot be read. */
function text(...parts) {
  try {
    return fs.readFileSync(path.join(...parts), 'utf8');
  } catch {
    return '';
  }
}

const firstLine = (...parts) => text(...parts).split('\n', 1)[0].trim();

/** A number that is not negative, times its unit; null for everything else, "max" and -1 too. */
function whole(value, unit = 1) {
  return /^[0-9]+$/.test(value ?? '') ? Number(value) * unit : null;
}

module.exports = { firstLine, text, whole };
