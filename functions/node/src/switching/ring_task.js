'use strict';
// A task of the ring, in a process of its own. It adds its process id to the token, until no process holds the pipe before it any
// more.

const fs = require('node:fs');

const [before, next] = process.argv.slice(2);
const from = fs.openSync(before, 'r');
const to = fs.openSync(next, 'w');
const token = Buffer.alloc(8);
process.send('ready');
while (fs.readSync(from, token, 0, 8, null) === 8) {
  token.writeDoubleLE(token.readDoubleLE(0) + process.pid, 0);
  fs.writeSync(to, token, 0, 8);
}
process.disconnect();
