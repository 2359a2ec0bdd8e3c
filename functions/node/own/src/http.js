'use strict';
// In place of the project's handler in a package of `swtch faas package --handler`: a user's own function behind the same adapters. `called.json`,
// which is written then, names the function; its sources are in the directory `user`.

const path = require('node:path');
const { load, reply: called } = require('./call');
const { handler } = require('./called.json');

let found;

/** { status, document } of a body, or of a query string where there is none. */
async function reply(platform, { body, query }) {
  found ??= load(handler, path.join(__dirname, 'user'));
  const empty = body === undefined || body === null || body.length === 0;
  return called(await found, empty ? Object.fromEntries(new URLSearchParams(query ?? '')) : body);
}

/** What follows the question mark of a URL. */
const queryOf = (url) => url.split('?', 2)[1] ?? '';

module.exports = { queryOf, reply };
