'use strict';
// A user's own function, `MODULE:FUNCTION`: loaded once, then called with events. It may be async, or take Lambda's callback.

const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const CALL = 'swtch/faas-call/1';
const ERROR = 'swtch/faas-error/1';
const ENDINGS = ['', '.js', '.mjs', '.cjs', '/index.js', '/index.mjs', '/index.cjs'];

/** The function, from a directory. Throws an Error whose message is one line. */
async function load(name, directory = process.cwd()) {
  const colon = name.lastIndexOf(':');
  const [module, called] = [name.slice(0, colon), name.slice(colon + 1)];
  if (colon < 1 || !called) throw new Error(`'${name}' is not module:function`);
  const at = path.resolve(directory, module);
  const file = ENDINGS.map((ending) => at + ending).find((one) => fs.statSync(one, { throwIfNoEntry: false })?.isFile());
  if (file === undefined) throw new Error(`there is no module ${module} in ${directory}`);
  let exported;
  try {
    exported = await import(pathToFileURL(file).href);
  } catch (error) {
    throw new Error(`${module} cannot be loaded: ${oneLine(error)}`);
  }
  const found = exported[called] ?? exported.default?.[called];
  if (typeof found !== 'function') throw new Error(`${module} has no function ${called}`);
  return found;
}

/** What the function returns, or its promise or callback gives. */
function result(called, event, context = {}) {
  if (called.length < 3) return called(event, context);
  return new Promise((resolve, reject) => {
    const returned = called(event, context, (error, value) => (error ? reject(error) : resolve(value)));
    // An async function may declare a callback and not call it.
    if (typeof returned?.then === 'function') returned.then(resolve, reject);
  });
}

/** { status, document } of a call, without what it took. */
async function call(called, event, context) {
  try {
    const value = (await result(called, event, context)) ?? null;
    // A value that is not JSON, such as a BigInt or a circle, throws here.
    if (JSON.stringify(value) === undefined) throw new TypeError('what the function returned is not JSON');
    return { status: 200, document: { schema: CALL, result: value } };
  } catch (error) {
    return { status: 500, document: failure(oneLine(error), where(error)) };
  }
}

/** The same as an answer over HTTP: { status, document } of a body, where the document is what the function returned. */
async function reply(called, body, context) {
  let event = body;
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    const text = body.toString();
    try {
      event = text.trim() ? JSON.parse(text) : {};
    } catch (error) {
      return { status: 400, document: failure(`the body is not JSON: ${oneLine(error)}`) };
    }
  }
  const { status, document } = await call(called, event ?? {}, context);
  return { status, document: status === 200 ? document.result : document };
}

const failure = (error, at) => ({ schema: ERROR, error, ...(at && { where: at }) });

const oneLine = (error) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).split('\n')[0];

/** The innermost line of the function: the first place outside of Node.js. */
function where(error) {
  const line = String(error?.stack ?? '').split('\n').find((one) => /^\s+at .*\d+:\d+\)?$/.test(one) && !one.includes('node:'));
  return line?.replace(/^.*?\(?((file:\/\/)?\/[^()]*):\d+\)?$/, '$1').replace('file://', '');
}

module.exports = { call, failure, load, reply };
