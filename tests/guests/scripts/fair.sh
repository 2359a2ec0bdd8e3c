# Six programs that compute on six CPUs of two and of three kinds, under policies in turn. It prints "RESULT machine policy", what every
# program did and how long it ran on each CPU ("DONE w1 0:1500 3:499 81234"), and the decisions and the use of every interval, as JSON lines.
# MACHINES has a line for each: its name and options, policies, and two figures of each program. They are the speedups over the slowest kind,
# and how much slower than the fastest it is on the others. CPUs are alike in the guest. Those of slower kinds are held up by these factors
# (swtch-slow), and the gain from a faster CPU is given. Under the policy "stock" no scheduler is loaded and no CPU is held up. Emulated CPUs differ in
# speed by a fifth from one second to the next. Under QEMU's -icount they take turns whenever a timer expires. That is made often: the third
# timer of the HPET every 50 us, without an interrupt. Needs iomem=relaxed on the kernel's command line.
hpet=0xfed00000
set_register() { busybox devmem $((hpet + $1)) 32 "$2"; }
set_register 0x10 $(($(busybox devmem $((hpet + 0x10)) 32) | 1))
set_register 0x140 0x48
set_register 0x148 5000

for number in 1 2 3 4 5 6; do cp "$(command -v worker)" /tmp/w$number; done
# The kernel says that all CPUs here are of one kind.
scx_fair --kinds kernel; echo "KERNEL $?"
# "w1=3,2 w2=2.8,2.2" as lines of a file.
lines() { echo "$1" | tr ' ' '\n' | sed 's/[=,]/ /g'; }
work() {
	workers=""
	for number in 1 2 3 4 5 6; do /tmp/w$number "$SECONDS_EACH" > /tmp/done$number & workers="$workers $!"; done
	wait $workers
	sed 's/^/DONE /' /tmp/done[1-6]
}
echo "$MACHINES" | while IFS='|' read -r machine options policies speedups slowdowns others slowed; do
	# Other tasks that are busy for a moment gain nothing.
	(lines "$speedups"; echo "* $others") > /tmp/speedups; lines "$slowdowns" > /tmp/slowdowns
	# Counting times by CPU takes longer on more CPUs: not where it is what programs get done that counts.
	if [ -n "$slowdowns" ]; then export WORKER_CPUS=1; else unset WORKER_CPUS; fi
	for policy in $policies; do
		echo "RESULT $machine $policy"
		if [ "$policy" = stock ]; then work; continue; fi
		# Where no program is slower anywhere nothing is held up.
		slow=""
		if [ -n "$slowdowns" ]; then
			swtch-slow $slowed --programs /tmp/slowdowns > /tmp/slow & slow=$!
			# It has a line for each kind that it holds up.
			while [ "$(wc -l < /tmp/slow)" -lt "$(echo $slowed | wc -w)" ]; do sleep 0.05; done
		fi
		scx_fair $options --policy $policy --interval 500ms --stats 1 --speedups /tmp/speedups --json > /tmp/log 2>&1 & pid=$!
		while [ "$(cat /sys/kernel/sched_ext/state)" != enabled ] && [ -d /proc/$pid ]; do sleep 0.1; done
		work
		kill $pid; wait $pid; [ -z "$slow" ] || kill $slow
		grep '"about":"shares"' /tmp/log || cat /tmp/log
		grep '"event":"counters"' /tmp/log | tail -n 1 | sed 's/,"cpus".*//'
	done
done
