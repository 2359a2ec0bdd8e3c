# Context switches and time of hackbench under the stock class and flsched: RESULT policy|arguments|switches|seconds
switches() { sed -n 's/^ctxt //p' /proc/stat; }
one() {
	policy=$1
	shift
	before=$(switches)
	seconds=$(hackbench "$@" 2>&1 | sed -n 's/^Time: //p')
	echo "RESULT $policy|$*|$(($(switches) - before))|$seconds"
}
for arguments in "-p -g 4 -l 20" "-p -T -g 4 -l 20"; do
	one stock $arguments
	scx_flsched > /tmp/log 2>&1 & pid=$!
	while [ "$(cat /sys/kernel/sched_ext/state)" != enabled ] && [ -d /proc/$pid ]; do sleep 0.1; done
	one flsched $arguments
	kill $pid; wait $pid
done
