'use strict';
// OpenFaaS: what its template calls with the event and a context that takes the status.

const { reply } = require('../src/http');

module.exports = async (event, context) => {
  const query = new URLSearchParams(event.query ?? {}).toString();
  // The template has parsed the body: an object, also where there was none.
  const { status, document } = await reply('openfaas', { body: event.body, query, headers: event.headers });
  return context.status(status).headers({ 'content-type': 'application/json' }).succeed(document);
};
