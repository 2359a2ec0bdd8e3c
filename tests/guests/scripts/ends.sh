# What a user expects of schedulers beyond what tests/guests/sched.rs asks of `swtch sched`: one expectation a line, PASS or FAIL.
state() { cat /sys/kernel/sched_ext/state; }
verdict() { if [ "$2" = "$3" ]; then echo "PASS $1"; else echo "FAIL $1: '$2', expected '$3'"; fi; }
policy() { read -r stat < "/proc/$1/stat"; set -- ${stat##*)}; echo "${39}"; }
# A scheduler may end before it is seen enabled; a process that waits for it then continues.
enabled() { while [ "$(state)" != enabled ] && [ -d "/proc/$pid" ]; do sleep 0.1; done; }
disabled() { n=0; while [ "$(state)" != disabled ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done; state; }
holds() { grep -c "$2" "$1"; }

scx_flsched --json > /tmp/out & pid=$!
enabled; kill -TERM $pid; wait $pid
verdict "SIGTERM ends it" "$? $(state) $(holds /tmp/out '"because":"signal"')" "0 disabled 1"

scx_flsched > /tmp/out 2>&1 & pid=$!
enabled; scx_global_fifo 2> /tmp/err
verdict "refuses beside another" "$? $(holds /tmp/err 'another sched_ext scheduler is loaded, flsched') $(wc -l < /tmp/err)" "1 1 1"
kill -KILL $pid; wait $pid 2> /dev/null
verdict "SIGKILL of its process ends it" "$(disabled)" disabled

scx_flsched --json --stats 1 --for 2s > /dev/full
verdict "runs to its end without a reader of its output" "$? $(state)" "0 disabled"

# The scheduler whose own half panics after a second, in the place of the one that swtch runs.
own=$(command -v scx_flsched)
mv "$own" /tmp/good && cp "$(command -v scx_panics)" "$own"
swtch sched flsched > /tmp/out 2>&1; status=$?
verdict "a panic of its own half ends it" "$status $(disabled)" "1 disabled"
for words in "panicked at" "this half fails" "ended with status 101" "the kernel says: " "the kernel's own scheduler is back"; do
	verdict "and swtch says '$words'" "$(holds /tmp/out "$words")" 1
done
# Its half dies where nothing of it can clean up.
mv /tmp/good "$own"
swtch sched flsched > /tmp/out 2>&1 & pid=$!
enabled; read -r half < "/proc/$pid/task/$pid/children"; kill -ABRT $half; wait $pid
verdict "a crash of its own half ends it" "$? $(disabled) $(holds /tmp/out 'was killed by signal 6')" "1 disabled 1"

sleep 600 & one=$!
sleep 600 & other=$!
scx_flsched --only-pid $one > /tmp/out & pid=$!
enabled; sleep 1
verdict "hands over one process only" "$(policy $one) $(policy $other)" "7 0"
kill $pid; wait $pid
verdict "and gives it its policy back" "$(policy $one)" 0

mkdir /sys/fs/cgroup/some && echo $other > /sys/fs/cgroup/some/cgroup.procs
scx_flsched --only-cgroup /sys/fs/cgroup/some > /tmp/out & pid=$!
enabled; sleep 1
verdict "hands over one cgroup only" "$(policy $one) $(policy $other)" "0 7"
kill $pid; wait $pid
verdict "and gives its processes their policy back" "$(policy $other)" 0
scx_flsched --only-cgroup /no/such 2> /tmp/err
verdict "refuses a cgroup that is not there" "$? $(wc -l < /tmp/err) $(state)" "1 1 disabled"
kill $one $other
dmesg | grep -E 'WARNING|BUG|Call Trace' && echo "FAIL the kernel log has warnings"
echo "PASS script complete"
