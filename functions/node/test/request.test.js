'use strict';
const test = require('node:test');
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { RequestError, defaults, parse } = require('../src/request');

const { vectors } = JSON.parse(fs.readFileSync(path.join(__dirname, '../../vectors/requests.json'), 'utf8'));

for (const { body, query, understood, refused } of vectors) {
  test(`the request ${body ?? ''}?${query ?? ''}`, () => {
    if (understood) {
      assert.deepEqual(parse(body, query), { ...defaults(), ...understood });
      return;
    }
    assert.throws(
      () => parse(body, query),
      (error) => error instanceof RequestError && error.message.includes(refused) && !error.message.includes('\n'),
    );
  });
}
