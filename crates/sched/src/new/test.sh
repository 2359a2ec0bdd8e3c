#!/bin/sh
# Compiles @NAME@.bpf.c, runs a small job under it in a virtual machine, and compares it with the kernel's own scheduler. The figures are
# exact: the same scheduler gives the same ones on any machine. Status 0 when it is loaded, schedules and ends without a failure.
set -eu
cd "$(dirname "$0")"
swtch sched compare --vm --deterministic --no-record --policies stock,@NAME@.bpf.c -- \
    sh -c 'for writer in 1 2 3 4; do seq 20 | cat > /dev/null & done; wait'
