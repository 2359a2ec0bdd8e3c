'use strict';
module.exports = require('./adapters/knative');
