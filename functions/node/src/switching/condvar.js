'use strict';
// Two threads that wait for a shared word to change: Node.js's condition variable.

const partner = require('./partner');
const counts = require('./counts');

/** Places in the shared memory: whose turn it is, and whether it is over. */
const TURN = 0;
const OVER = 1;

async function open(request) {
  const shared = new SharedArrayBuffer(8);
  const { worker, thread } = await partner.start('turns', { shared });
  const turn = new Int32Array(shared);
  const alone = new Int32Array(new SharedArrayBuffer(8));
  const trips = Math.ceil(request.switches_per_batch / 2);
  return {
    tasks: 'threads',
    task_count: 2,
    baseline: 'one task: store, notify, wait for what is there',
    switches: 2 * trips,
    threads: [thread],
    counts: counts.own,
    gross() {
      for (let i = 0; i < trips; i++) {
        Atomics.store(turn, TURN, 1);
        Atomics.notify(turn, TURN);
        Atomics.wait(turn, TURN, 1);
      }
    },
    around() {
      for (let i = 0; i < 2 * trips; i++) {
        Atomics.store(alone, TURN, 1);
        Atomics.notify(alone, TURN);
        Atomics.wait(alone, TURN, 0);
      }
    },
    async stop() {
      Atomics.store(turn, OVER, 1);
      Atomics.store(turn, TURN, 1);
      Atomics.notify(turn, TURN);
      await worker.terminate();
    },
  };
}

module.exports = { open };
