# Context switches and time of hackbench under every scheduler: RESULT policy|arguments|switches|seconds
loops=${LOOPS:-100}
switches() { grep ctxt /proc/stat | cut -d' ' -f2; }
one() {
	policy=$1 prefix=$2
	shift 2
	before=$(switches)
	seconds=$($prefix hackbench "$@" 2>&1 | sed -n 's/^Time: //p')
	echo "RESULT $policy|$*|$(($(switches) - before))|$seconds"
}
for arguments in "-p -g 4 -l $loops" "-p -T -g 4 -l $loops" "-g 4 -l $loops"; do
	one stock "" $arguments
	one fifo "chrt -f 50" $arguments
	one rr "chrt -r 50" $arguments
	for name in global_fifo flsched; do
		scx_$name > /tmp/log 2>&1 & pid=$!
		while [ "$(cat /sys/kernel/sched_ext/state)" != enabled ]; do sleep 0.1; done
		one $name "" $arguments
		kill $pid; wait $pid
	done
done
