'use strict';
// The function as a plain server: node src/server.js --listen 127.0.0.1:0; with --lines without one, from standard input to standard output.

// When the runtime was up; what follows is initialisation.
const BEGAN_NS = process.hrtime.bigint();

const http = require('node:http');
const readline = require('node:readline');
const { parseArgs } = require('node:util');
const { queryOf, reply } = require('./http');

/** More than any request needs. */
const MOST_BYTES = 2 ** 20;

async function handle(request, response) {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (request.method === 'GET' && pathname === '/healthz') return send(response, 200, 'ok\n', 'text/plain');
  if (pathname !== '/') return refuse(response, 404, 'there is nothing here');
  if (request.method !== 'POST') return refuse(response, 405, 'ask with POST');
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= MOST_BYTES) chunks.push(chunk);
  }
  if (bytes > MOST_BYTES) return refuse(response, 400, `the body is larger than ${MOST_BYTES} bytes`);
  const { status, document } = await reply('local', { body: Buffer.concat(chunks), query: queryOf(request.url) });
  return send(response, status, JSON.stringify(document));
}

function refuse(response, status, error) {
  send(response, status, JSON.stringify({ schema: 'swtch/faas-error/1', error }));
}

function send(response, status, text, type = 'application/json') {
  response.writeHead(status, { 'content-type': type }).end(text);
}

function listen(place) {
  const colon = place.lastIndexOf(':');
  const [host, port] = [place.slice(0, colon), Number(place.slice(colon + 1))];
  if (colon < 0 || !Number.isInteger(port)) fail(`--listen is ADDRESS:PORT, not ${place}`);
  const server = http.createServer((request, response) => {
    handle(request, response).catch((error) => refuse(response, 500, error.message));
  });
  server.on('error', (error) => fail(error.message));
  server.listen(port, host, () => {
    process.stdout.write(`${JSON.stringify({ listening: `${host}:${server.address().port}`, pid: process.pid })}\n`);
  });
}

// A line in, a line out: what swtch faas runs, so that no HTTP is in the function's cgroup. That work is done is a line of its own before the
// answer, which has what the work took.
function lines() {
  const say = (answered) => process.stdout.write(`${JSON.stringify(answered)}\n`);
  const worked = () => say({ status: 200, document: {}, more: true });
  let last = Promise.resolve();
  readline.createInterface({ input: process.stdin, terminal: false }).on('line', (body) => {
    last = last.then(() => reply('local', { body, query: '', worked })).then(say);
  });
  process.stdout.write(`{"ready":true,"began_ns":${BEGAN_NS}}\n`);
}

function fail(why) {
  process.stderr.write(`swtch-function: ${why}\n`);
  process.exit(1);
}

try {
  const options = { listen: { type: 'string', default: '127.0.0.1:0' }, lines: { type: 'boolean', default: false } };
  const { values } = parseArgs({ options });
  if (values.lines) lines();
  else listen(values.listen);
} catch (error) {
  fail(error.message);
}
