"""Serverless functions: what switches and throttling cost them at each memory tier.

Importing this package imports none of it.

Modules: `swtch faas` is `command` with `measure`, `tiers`, `compare`, `serve`, `package` and `prices_command`; `plan` (which invocations, in which
order; pure), `journal` (each on the disk), `runner` (tiers as cgroups), `server` (a function's process), `invoke` (HTTP, through `proxies`),
`access` (headers, tokens, `sigv4`; retries), `scope` (without root); pure:
`rows`, `cold` (cold starts), `advice`, `hints` (why a function is slow), `summary`, `tier_sets`, `price` with `prices/*.json`; `study` (the document); `figures` (statistics, all from the
native half); `directories` (where handlers are), `languages` (how their local servers are started), `platforms` (what each platform wants,
by the manifests in `functions/*/deploy`), `deploy` (the lines that deploy), `builds` (what is compiled or installed once, into the cache), `frameworks` (what platforms
run functions in), `runtime_api` (Lambda's, on loopback).
"""
