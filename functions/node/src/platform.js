'use strict';
// What a platform says of itself, by environment variables.

const NAMES = {
  lambda: ['AWS_LAMBDA_FUNCTION_NAME'],
  gcf: ['K_SERVICE', 'FUNCTION_NAME', 'FUNCTION_TARGET'],
  knative: ['K_SERVICE'],
  openfaas: ['OPENFAAS_NAME'],
};
const MEMORIES = { lambda: 'AWS_LAMBDA_FUNCTION_MEMORY_SIZE', gcf: 'FUNCTION_MEMORY_MB' };
/** AWS Lambda's documentation: at 1769 MB a function has the equivalent of one vCPU. */
const LAMBDA_MB_PER_CPU = 1769;

function platform(name, environment = process.env) {
  const named = NAMES[name]?.find((variable) => environment[variable]);
  const memory = /^[1-9][0-9]*$/.test(environment[MEMORIES[name]] ?? '') ? MEMORIES[name] : undefined;
  const mb = memory ? Number(environment[memory]) : null;
  const sources = [named, memory].filter((variable) => variable !== undefined);
  return {
    name,
    function: named ? environment[named] : null,
    memory_mb: mb,
    cpus: name === 'lambda' && mb !== null ? mb / LAMBDA_MB_PER_CPU : null,
    source: sources.length > 0 ? `environment variables ${sources.join(', ')}` : null,
  };
}

module.exports = { platform };
