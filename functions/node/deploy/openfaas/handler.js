'use strict';
module.exports = require('./adapters/openfaas');
