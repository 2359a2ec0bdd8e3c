'use strict';
// A task of the ring, in a process of its own: adds its process id to the token, until the token is negative.

const fs = require('node:fs');

const [before, next] = process.argv.slice(2).map((name) => fs.openSync(name, 'r+'));
const token = Buffer.alloc(8);
process.send('ready');
do {
  fs.readSync(before, token, 0, 8, null);
  const sum = token.readDoubleLE(0);
  if (sum >= 0) token.writeDoubleLE(sum + process.pid, 0);
  fs.writeSync(next, token, 0, 8);
} while (token.readDoubleLE(0) >= 0);
process.disconnect();
