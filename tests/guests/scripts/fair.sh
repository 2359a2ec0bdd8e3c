# Six programs that compute on six CPUs of two and of three kinds, under max-fair and then under min-fair. It prints "RESULT machine
# policy", and the decisions and the use of every interval, as JSON lines. MACHINES has a line for each: its name and options, and two
# figures of each program. They are the speedups over the slowest kind, and how much slower than the fastest it is on the others. CPUs are
# alike in the guest. Those of slower kinds are held up by these factors, and the gain from a faster CPU is given. Emulated CPUs differ in
# speed by a fifth from one second to the next. Under QEMU's -icount they take turns whenever a timer expires. That is made often: the third
# timer of the HPET every 50 us, without an interrupt. Needs iomem=relaxed on the kernel's command line.
hpet=0xfed00000
set_register() { busybox devmem $((hpet + $1)) 32 "$2"; }
set_register 0x10 $(($(busybox devmem $((hpet + 0x10)) 32) | 1))
set_register 0x140 0x48
set_register 0x148 5000

for number in 1 2 3 4 5 6; do cp "$(command -v worker)" /tmp/w$number; done
# "w1=3,2 w2=2.8,2.2" as lines of a file.
lines() { echo "$1" | tr ' ' '\n' | sed 's/[=,]/ /g'; }
echo "$MACHINES" | while IFS='|' read -r machine options speedups slowdowns others; do
	# Other tasks that are busy for a moment gain nothing.
	(lines "$speedups"; echo "* $others") > /tmp/speedups; lines "$slowdowns" > /tmp/slowdowns
	for policy in max-fair min-fair; do
		scx_fair $options --policy $policy --interval 500ms --speedups /tmp/speedups --throttle-slow /tmp/slowdowns --json > /tmp/log 2>&1 & pid=$!
		while [ "$(cat /sys/kernel/sched_ext/state)" != enabled ] && [ -d /proc/$pid ]; do sleep 0.1; done
		workers=""
		for number in 1 2 3 4 5 6; do /tmp/w$number "$SECONDS_EACH" & workers="$workers $!"; done
		wait $workers
		kill $pid; wait $pid
		echo "RESULT $machine $policy"; grep '"about":"shares"' /tmp/log || cat /tmp/log
	done
done
