# Six programs that compute on two fast and four slow CPUs, under max-fair and then under POLICY: "RESULT policy", "NAME work" for each of
# them, and what was decided last. CPUs are alike in the guest; slow ones are held up, by a factor of its own for each program.
# Under QEMU's -icount emulated CPUs take turns whenever a timer expires, and are equally fast only when that is often: the third timer of
# the HPET every 20.3 us (not a part of a tick, so that ticks hit every CPU alike), without an interrupt. Needs iomem=relaxed on the kernel's command line.
hpet=0xfed00000
set_register() { busybox devmem $((hpet + $1)) 32 "$2"; }
set_register 0x10 $(($(busybox devmem $((hpet + 0x10)) 32) | 1))
set_register 0x140 0x48
set_register 0x148 2030

for number in 1 2 3 4 5 6; do cp "$(command -v worker)" /tmp/w$number; done
mkdir -p /tmp/progress
printf 'w1 3.0\nw2 2.6\nw3 2.2\nw4 1.8\nw5 1.5\nw6 1.2\n' > /tmp/slowdowns
for policy in max-fair "$POLICY"; do
	rm -f /tmp/progress/*
	scx_fair --fast 0-1 --policy "$policy" --interval "$INTERVAL" --progress /tmp/progress --throttle-slow /tmp/slowdowns --json > /tmp/log 2>&1 & pid=$!
	while [ "$(cat /sys/kernel/sched_ext/state)" != enabled ] && [ -d /proc/$pid ]; do sleep 0.1; done
	echo "RESULT $policy"
	workers=""
	for number in 1 2 3 4 5 6; do /tmp/w$number "$SECONDS_EACH" /tmp/progress time & workers="$workers $!"; done
	wait $workers
	kill $pid; wait $pid
	grep '"about":"shares"' /tmp/log | grep '"w1"' | tail -n 1
done
echo "RESULT end"
