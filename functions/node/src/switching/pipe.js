'use strict';
// Two threads, each waiting in a read for the other's byte.

const fs = require('node:fs');
const fifos = require('./fifos');
const partner = require('./partner');
const counts = require('./counts');

async function open(request) {
  const pipes = fifos.make(3);
  const [there, back, alone] = pipes.files;
  const { worker, thread } = await partner.start('pipe', { read: there, write: back });
  const token = Buffer.alloc(1, 1);
  const trips = Math.ceil(request.switches_per_batch / 2);
  const exchange = (times, write, read) => {
    for (let i = 0; i < times; i++) {
      fs.writeSync(write, token, 0, 1);
      fs.readSync(read, token, 0, 1, null);
    }
  };
  return {
    tasks: 'threads',
    task_count: 2,
    baseline: 'one task, one named pipe',
    switches: 2 * trips,
    threads: [thread],
    counts: counts.own,
    gross: () => exchange(trips, there, back),
    around: () => exchange(2 * trips, alone, alone),
    async stop() {
      token[0] = 0;
      exchange(1, there, back);
      await worker.terminate();
      pipes.close();
    },
  };
}

module.exports = { open };
