'use strict';
// Node.js cannot make a pipe that it reads without its event loop. A named pipe is the same object in the kernel.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/**
 * This many named pipes in a directory of their own: { paths, files, unlink, close }. Files are open both ways, so that opening never waits; once
 * everybody has opened them they need no names.
 */
function make(count) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'swtch-fifos-'));
  const paths = Array.from({ length: count }, (_, i) => path.join(directory, String(i)));
  const files = [];
  const unlink = () => fs.rmSync(directory, { recursive: true, force: true });
  const close = () => {
    files.forEach((file) => fs.closeSync(file));
    unlink();
  };
  try {
    execFileSync('mkfifo', paths, { stdio: ['ignore', 'ignore', 'pipe'] });
    for (const each of paths) files.push(fs.openSync(each, 'r+'));
  } catch (error) {
    close();
    throw error.code === 'ENOENT' ? new Error('there is no mkfifo here, and Node.js makes no pipes itself') : error;
  }
  return { paths, files, unlink, close };
}

module.exports = { make };
