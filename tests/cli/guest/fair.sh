# Six programs that compute on two fast and four slow CPUs, under max-fair and then under min-fair: "RESULT policy", and what was decided and
# used in every interval, as JSON lines. CPUs are alike in the guest; slow ones are held up, by a factor of its own for each program, and
# what each gains from a fast CPU is given: emulated CPUs differ in speed by a fifth from one second to the next.
# Under QEMU's -icount they take turns whenever a timer expires; that is made often: the third timer of the HPET every 50 us, without an
# interrupt. Needs iomem=relaxed on the kernel's command line.
hpet=0xfed00000
set_register() { busybox devmem $((hpet + $1)) 32 "$2"; }
set_register 0x10 $(($(busybox devmem $((hpet + 0x10)) 32) | 1))
set_register 0x140 0x48
set_register 0x148 5000

for number in 1 2 3 4 5 6; do cp "$(command -v worker)" /tmp/w$number; done
echo "$SPEEDUPS" | tr ' ' '\n' | sed 's/=/ /' > /tmp/speedups
# Whoever else is busy for a moment.
cp /tmp/speedups /tmp/slowdowns; echo '* 1' >> /tmp/speedups
for policy in max-fair min-fair; do
	scx_fair --fast 0-1 --policy $policy --interval 1s --speedups /tmp/speedups --throttle-slow /tmp/slowdowns --json > /tmp/log 2>&1 & pid=$!
	while [ "$(cat /sys/kernel/sched_ext/state)" != enabled ] && [ -d /proc/$pid ]; do sleep 0.1; done
	workers=""
	for number in 1 2 3 4 5 6; do /tmp/w$number "$SECONDS_EACH" & workers="$workers $!"; done
	wait $workers
	kill $pid; wait $pid
	echo "RESULT $policy"; grep '"about":"shares"' /tmp/log
done
