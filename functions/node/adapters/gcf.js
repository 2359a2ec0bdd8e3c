'use strict';
// Google Cloud Functions: what its framework calls with Express's request and response.

const { queryOf, reply } = require('../src/http');

exports.measure = async (request, response) => {
  const { status, document } = await reply('gcf', { body: request.rawBody, query: queryOf(request.url), headers: request.headers });
  response.status(status).json(document);
};
