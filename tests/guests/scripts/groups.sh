# Two cgroups as applications on two fast and two slow CPUs: one task in small, which gains little from a fast CPU, three in big. "NAME
# work" for each task, and what was decided, as JSON. CPUs are alike in the guest; the slow ones are held up, by 2. Then processes of
# different weights on the same CPUs, of which one comes later and goes first: "WEIGHTS" and every decision, as JSON.
join() { group=$1; shift; echo 0 > "/sys/fs/cgroup/$group/cgroup.procs"; exec "$@"; }

for name in small1 big1 big2 big3; do cp "$(command -v worker)" /tmp/$name; done
mkdir /sys/fs/cgroup/small /sys/fs/cgroup/big
# Other tasks that are busy for a moment, the shell among them, gain nothing from a fast CPU.
printf 'small 1.1\nbig 2.0\n* 1.0\n' > /tmp/speedups
scx_fair --by-cgroup --fast 0-1 --policy max-perf --interval 1s --speedups /tmp/speedups --throttle-slow 2 --json > /tmp/log 2>&1 & pid=$!
while [ "$(cat /sys/kernel/sched_ext/state)" != enabled ] && [ -d /proc/$pid ]; do sleep 0.1; done
workers=""
for name in small1 big1 big2 big3; do (join ${name%?} /tmp/$name "$SECONDS_EACH") & workers="$workers $!"; done
wait $workers; kill $pid; wait $pid; echo "status $?"
# The intervals in which all were busy, and no other task was; without those that ended early.
grep '"about":"shares"' /tmp/log | grep '"name":"small"' | grep '"name":"big"' | grep '"tasks":3' | grep -v -e '"name":"/"' -e within_interval
rmdir /sys/fs/cgroup/small /sys/fs/cgroup/big

echo WEIGHTS
scx_fair --fast 0-1 --policy max-fair --interval 1s --json > /tmp/log 2>&1 & pid=$!
while [ "$(cat /sys/kernel/sched_ext/state)" != enabled ] && [ -d /proc/$pid ]; do sleep 0.1; done
for name in heavy late one two three four five; do cp "$(command -v worker)" /tmp/$name; done
workers=""
nice -n -5 /tmp/heavy 6 > /dev/null & workers="$!"
for name in one two three four five; do /tmp/$name 6 > /dev/null & workers="$workers $!"; done
sleep 2.5; /tmp/late 1.8 > /dev/null
wait $workers; kill $pid; wait $pid
grep '"about":"shares"' /tmp/log || cat /tmp/log
