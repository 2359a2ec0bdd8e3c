# What a user expects of something that schedules their machine. Every line that begins with PASS or FAIL is one expectation.
state() { cat /sys/kernel/sched_ext/state; }
verdict() { if [ "$2" = "$3" ]; then echo "PASS $1"; else echo "FAIL $1: '$2', expected '$3'"; fi; }
policy() { cut -d')' -f2- "/proc/$1/stat" | cut -d' ' -f40; }
loaded() { n=0; while [ "$(state)" != enabled ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done; }

scx_flsched --for 1s --json > /tmp/out
verdict "ends when time is up" "$? $(state)" "0 disabled"
verdict "says so" "$(grep -c '"event":"ended","because":"time".*"kind":"unreg"' /tmp/out)" 1

for signal in INT TERM; do
	scx_flsched --json > /tmp/out & pid=$!
	loaded
	kill -$signal $pid; wait $pid
	verdict "ends on SIG$signal" "$? $(state) $(grep -c '"because":"signal"' /tmp/out)" "0 disabled 1"
done

scx_flsched > /tmp/out 2>&1 & pid=$!
loaded
scx_global_fifo 2> /tmp/err
verdict "refuses beside another" "$? $(grep -c 'another sched_ext scheduler is loaded, flsched' /tmp/err) $(wc -l < /tmp/err)" "1 1 1"
kill -KILL $pid; wait $pid 2> /dev/null
n=0; while [ "$(state)" != disabled ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
verdict "the kernel's own scheduler is back after SIGKILL" "$(state)" disabled

for name in scx_flsched scx_global_fifo; do
	$name --json > /tmp/out 2>&1 & pid=$!
	loaded
	echo S > /proc/sysrq-trigger
	wait $pid
	verdict "$name says that SysRq-S ended it" "$? $(state) $(grep -c '"because":"kernel","seconds":[0-9.]*,"kind":"sysrq"' /tmp/out)" "1 disabled 1"
done

sleep 60 & one=$!
sleep 60 & other=$!
scx_flsched --only-pid $one > /tmp/out & pid=$!
loaded; sleep 1
verdict "hands over one process only" "$(policy $one) $(policy $other)" "7 0"
kill $pid; wait $pid
verdict "and gives it its policy back" "$(policy $one)" 0

mkdir /sys/fs/cgroup/some && echo $other > /sys/fs/cgroup/some/cgroup.procs
scx_flsched --only-cgroup /sys/fs/cgroup/some > /tmp/out & pid=$!
loaded; sleep 1
verdict "hands over one control group only" "$(policy $one) $(policy $other)" "0 7"
kill $pid; wait $pid
verdict "and gives its processes their policy back" "$(policy $other)" 0
scx_flsched --only-cgroup /no/such 2> /tmp/err
verdict "refuses a control group that is not there" "$? $(wc -l < /tmp/err) $(state)" "1 1 disabled"
kill $one $other
dmesg | grep -E 'WARNING|BUG|Call Trace' && echo "FAIL the kernel log has warnings"
echo "PASS script complete"
