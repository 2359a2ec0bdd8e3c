'use strict';
// What OpenFaaS's template for Node.js does around a handler, on loopback: Express, an event, and a context that takes status and headers.
//     node serve.js HANDLER PORT        with Express where NODE_PATH says

const path = require('node:path');

const express = require('express');
const handler = require(path.resolve(process.argv[2]));

class Context {
  constructor(respond) {
    this.statusCode = 200;
    this.headerValues = {};
    this.respond = respond;
    this.answered = false;
  }

  status(code) {
    this.statusCode = code;
    return this;
  }

  headers(values) {
    this.headerValues = values;
    return this;
  }

  succeed(value) {
    this.answered = true;
    this.respond(null, value);
  }
}

const app = express();
app.use(express.json({ strict: false }));
app.use(express.text({ type: 'text/*' }));
app.all('*', async (request, response) => {
  const { body, headers, method, query, path: at } = request;
  const context = new Context((error, value) => {
    if (error) {
      response.status(500).send(String(error));
      return;
    }
    const text = typeof value === 'object' ? JSON.stringify(value) : value;
    response.set(context.headerValues).status(context.statusCode).send(text);
  });
  try {
    const value = await handler({ body, headers, method, query, path: at }, context);
    if (!context.answered) context.succeed(value);
  } catch (error) {
    context.respond(error);
  }
});
app.disable('x-powered-by');
app.listen(Number(process.argv[3]), '127.0.0.1');
