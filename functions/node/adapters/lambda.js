'use strict';
// AWS Lambda: the event is the request itself, or what a function URL or an API gateway makes of one over HTTP.

const { answer } = require('../src/answer');
const { reply } = require('../src/http');
const { parse } = require('../src/request');

exports.handler = async (event, context) => {
  if (event?.requestContext) return overHttp(event, context.awsRequestId);
  // What it throws, the platform makes an error of.
  return answer(parse(event, ''), 'lambda', context.awsRequestId);
};

async function overHttp(event, id) {
  const body = event.isBase64Encoded ? Buffer.from(event.body ?? '', 'base64') : event.body;
  const { status, document } = await reply('lambda', { body, query: event.rawQueryString, id });
  return { statusCode: status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(document) };
}
