'use strict';
// From a request over HTTP to its answer, whatever carries it.

const { answer } = require('./answer');
const { RequestError, parse } = require('./request');

/** Where platforms put the name of an invocation. */
const ID_HEADERS = { gcf: 'function-execution-id', knative: 'ce-id', openfaas: 'x-call-id' };

/**
 * { status, document } of a body (text, bytes or parsed), a query string without its question mark, and the invocation's name. In its place
 * may be the headers, in small letters, that have it. `worked` is as in `answer`.
 */
async function reply(platform, { body, query, headers = {}, id = headers[ID_HEADERS[platform]], worked }) {
  try {
    return { status: 200, document: await answer(parse(body, query), platform, id, worked) };
  } catch (error) {
    const status = error instanceof RequestError ? 400 : 500;
    return { status, document: { schema: 'swtch/faas-error/1', error: String(error.message).split('\n')[0] } };
  }
}

/** What follows the question mark of a URL. */
const queryOf = (url) => url.split('?', 2)[1] ?? '';

module.exports = { queryOf, reply };
