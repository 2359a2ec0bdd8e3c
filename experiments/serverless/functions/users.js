'use strict';
// A function of a user in Node.js, and the same called without swtch: `node users.js loop` reads a line for each call and answers with its time in
// ns; with `--http PORT` it serves it.

exports.loop = (event) => {
  let value = 1;
  for (let i = 0; i < event.n; i++) value = (Math.imul(value, 1103515245) + 12345) & 0x7fffffff;
  return { value };
};

if (require.main === module) {
  const called = exports[process.argv[2]];
  const at = process.argv.indexOf('--http');
  if (at > 0) {
    require('node:http')
      .createServer(async (request, response) => {
        const parts = [];
        for await (const part of request) parts.push(part);
        response.end(JSON.stringify(called(JSON.parse(Buffer.concat(parts)))));
      })
      .listen(Number(process.argv[at + 1]), '127.0.0.1');
  } else {
    require('node:readline')
      .createInterface({ input: process.stdin, terminal: false })
      .on('line', (line) => {
        const event = JSON.parse(line);
        const begin = process.hrtime.bigint();
        called(event);
        process.stdout.write(`${process.hrtime.bigint() - begin}\n`);
      });
  }
}
