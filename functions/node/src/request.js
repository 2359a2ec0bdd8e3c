'use strict';
// Reads what is asked of the function: a JSON object, a query string, or both.

const os = require('node:os');

/** A request that cannot be understood; the message is one line. */
class RequestError extends Error {}

const METHODS = ['pipe', 'condvar', 'ring'];
const MOST_SPINNERS = 64;

const defaults = () => ({
  methods: ['pipe', 'condvar', 'ring'],
  switches_per_batch: 200,
  min_batches: 20,
  max_batches: 1000,
  interval: 0.01,
  time_limit_ms: 1000,
  ring_tasks: 8,
  spin_ms: 1000,
  spinners: Math.min(os.availableParallelism(), MOST_SPINNERS),
  work_ms: 0,
  iterations: 0,
  pin: true,
  samples: false,
});

const readers = {
  methods,
  switches_per_batch: whole(2, 1_000_000),
  min_batches: whole(1, 5000),
  max_batches: whole(1, 5000),
  interval: above0(1),
  time_limit_ms: above0(900_000),
  ring_tasks: whole(2, 64),
  spin_ms: number(0, 900_000),
  spinners: whole(1, MOST_SPINNERS),
  work_ms: number(0, 900_000),
  iterations: whole(0, 1e13),
  pin: flag,
  samples: flag,
};

/** The request with its defaults filled in. Body is text, or what it was parsed to; the query string has no question mark. */
function parse(body, query) {
  const request = defaults();
  for (const [name, value] of Object.entries({ ...fieldsOf(body, query) })) {
    if (!Object.hasOwn(readers, name)) throw new RequestError(`unknown name ${shown(name)}`);
    request[name] = readers[name](value, name);
  }
  if (request.min_batches > request.max_batches) {
    throw new RequestError(`min_batches is ${request.min_batches}, more than max_batches, ${request.max_batches}`);
  }
  return request;
}

function fieldsOf(body, query) {
  const given = Object.assign(Object.create(null), objectOf(body));
  const parameters = new URLSearchParams(query ?? '');
  for (const name of parameters.keys()) {
    if (name in given || parameters.getAll(name).length > 1) throw new RequestError(`${shown(name)} is given twice`);
  }
  for (const [name, text] of parameters) given[name] = fromQuery(name, text);
  return given;
}

function objectOf(body) {
  let document = body ?? {};
  if (Buffer.isBuffer(document)) document = document.toString('utf8');
  if (typeof document === 'string') {
    try {
      document = document.trim() === '' ? {} : (JSON.parse(document) ?? {});
    } catch {
      throw new RequestError('the body is not JSON');
    }
  }
  if (typeof document !== 'object' || Array.isArray(document)) throw new RequestError('the body is not a JSON object');
  return document;
}

// Values as JSON would have them.
function fromQuery(name, text) {
  if (name === 'methods') return text.split(',').filter((method) => method !== '');
  if (text === 'true' || text === 'false') return text === 'true';
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

function methods(value) {
  if (!Array.isArray(value)) throw new RequestError('methods is not a list');
  for (const method of value) {
    if (!METHODS.includes(method)) throw new RequestError(`no method ${shown(method)} in Node.js; there are ${METHODS.join(', ')}`);
  }
  const twice = value.find((method, i) => value.indexOf(method) !== i);
  if (twice) throw new RequestError(`methods has ${twice} twice`);
  return value;
}

function number(low, high) {
  return (value, name) => {
    if (typeof value !== 'number' || !(value >= low && value <= high)) {
      throw new RequestError(`${name} is not a number from ${low} to ${high}`);
    }
    return value;
  };
}

function above0(high) {
  return (value, name) => {
    if (typeof value !== 'number' || !(value > 0 && value <= high)) {
      throw new RequestError(`${name} is not a number above 0 and up to ${high}`);
    }
    return value;
  };
}

function whole(low, high) {
  return (value, name) => {
    if (!Number.isInteger(value) || value < low || value > high) {
      throw new RequestError(`${name} is not a whole number from ${low} to ${high}`);
    }
    return value;
  };
}

function flag(value, name) {
  if (typeof value !== 'boolean') throw new RequestError(`${name} is neither true nor false`);
  return value;
}

// In one line, and not longer than a line should be.
function shown(value) {
  const text = String(value);
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

module.exports = { RequestError, defaults, parse };
