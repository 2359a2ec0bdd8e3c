'use strict';
// To be required before a framework that has no option for an address: it listens on loopback and not on all of them.

const { Server } = require('node:net');

const listen = Server.prototype.listen;

Server.prototype.listen = function onLoopback(where, ...rest) {
  const isPort = typeof where === 'number' || typeof where === 'string';
  // After a port come a host or the length of a queue, which go, and what is called when it listens.
  const options = isPort ? { port: Number(where) } : where;
  const called = isPort ? rest.filter((one) => typeof one === 'function') : rest;
  return listen.call(this, { ...options, host: '127.0.0.1' }, ...called);
};
