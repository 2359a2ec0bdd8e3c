'use strict';
// What a platform says of itself, by environment variables, best first; those of swtch faas count on any platform.

const NAMES = {
  lambda: ['AWS_LAMBDA_FUNCTION_NAME'],
  gcf: ['K_SERVICE', 'FUNCTION_NAME', 'FUNCTION_TARGET'],
  knative: ['K_SERVICE'],
  openfaas: ['OPENFAAS_NAME'],
  local: [],
};
const MEMORIES = { lambda: ['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'], gcf: ['FUNCTION_MEMORY_MB'] };
const OWN = { name: 'SWTCH_FUNCTION_NAME', memory: 'SWTCH_FUNCTION_MEMORY_MB', cpus: 'SWTCH_FUNCTION_CPUS' };
/** AWS Lambda's documentation: at 1769 MB a function has the equivalent of one vCPU. */
const LAMBDA_MB_PER_CPU = 1769;

function platform(name, environment = process.env) {
  const isPositive = (variable) => Number(environment[variable]) > 0 && Number(environment[variable]) < 1e9;
  const named = [...NAMES[name], OWN.name].find((variable) => environment[variable]);
  const memory = [...(MEMORIES[name] ?? []), OWN.memory].find(isPositive);
  const cpus = [OWN.cpus].find(isPositive);
  const mb = memory ? Math.round(Number(environment[memory])) : null;
  const used = [named, memory, cpus].filter((variable) => variable !== undefined);
  const byMemory = name === 'lambda' && mb !== null ? mb / LAMBDA_MB_PER_CPU : null;
  return {
    name,
    function: named ? environment[named] : null,
    memory_mb: mb,
    cpus: cpus ? Number(environment[cpus]) : byMemory,
    source: used.length > 0 ? `environment variables ${used.join(', ')}` : null,
  };
}

module.exports = { platform };
