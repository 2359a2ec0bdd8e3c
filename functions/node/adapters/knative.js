'use strict';
// Knative: what faas-js-runtime calls with its context and the body, parsed where it is JSON.

const { reply } = require('../src/http');

exports.handle = async (context, body) => {
  const query = new URLSearchParams(context.query ?? {}).toString();
  const { status, document } = await reply('knative', { body, query, headers: context.headers });
  return { statusCode: status, headers: { 'content-type': 'application/json' }, body: document };
};
