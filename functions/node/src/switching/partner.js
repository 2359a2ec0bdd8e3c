'use strict';
// The other thread of a pair. It tells its number when it is there, and then waits for its turns.

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const fs = require('node:fs');
const { threadId } = require('./pin');

/** Starts it; resolves to { worker, thread }. */
function start(role, data) {
  const worker = new Worker(__filename, { workerData: { partner: role, ...data } });
  return new Promise((resolve, reject) => {
    worker.once('message', (thread) => resolve({ worker, thread }));
    worker.once('error', reject);
  });
}

const roles = {
  /** Answers each byte, until the token is 0. */
  pipe({ read, write }) {
    const token = Buffer.alloc(1);
    do {
      fs.readSync(read, token, 0, 1, null);
      fs.writeSync(write, token, 0, 1);
    } while (token[0] !== 0);
  },
  /** Gives the turn back, until the other side says that it is over. */
  turns({ shared }) {
    const turn = new Int32Array(shared);
    for (;;) {
      Atomics.wait(turn, 0, 0);
      if (Atomics.load(turn, 1) === 1) return;
      Atomics.store(turn, 0, 0);
      Atomics.notify(turn, 0);
    }
  },
};

if (!isMainThread && workerData?.partner) {
  parentPort.postMessage(threadId());
  roles[workerData.partner](workerData);
}

module.exports = { start };
