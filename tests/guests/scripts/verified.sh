# What the verifier makes of every program, as JSON lines.
set -e; uname -r
scx_flsched --verify --json
scx_global_fifo --verify --json
scx_fair --fast 0 --verify --json
