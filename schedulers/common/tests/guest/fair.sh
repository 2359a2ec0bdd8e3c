# Six programs that compute on two fast and four slow CPUs, under several policies: RESULT policy, and "NAME work" for each.
# CPUs are alike in the guest; slow ones are held up, by a factor of its own for each program.
seconds=${SECONDS_EACH:-24}
# Under QEMU's -icount emulated CPUs take turns whenever a timer expires, and are equally fast only when that is often: the third timer of
# the HPET every 50 us, without an interrupt. Needs iomem=relaxed on the kernel's command line.
hpet=0xfed00000
devmem $((hpet + 0x10)) 32 $(($(devmem $((hpet + 0x10)) 32) | 1))
devmem $((hpet + 0x140)) 32 0x48
devmem $((hpet + 0x148)) 32 5000

for number in 1 2 3 4 5 6; do cp /bin/worker /bin/w$number; done
mkdir -p /run/progress
printf 'w1 3.0\nw2 2.6\nw3 2.2\nw4 1.8\nw5 1.5\nw6 1.2\n' > /tmp/slowdowns
for policy in ${POLICIES:-max-fair min-fair}; do
	rm -f /run/progress/*
	scx_fair --fast 0-1 --policy $policy --progress /run/progress --throttle-slow /tmp/slowdowns --json > /tmp/log 2>&1 & pid=$!
	while [ "$(cat /sys/kernel/sched_ext/state)" != enabled ]; do sleep 0.1; done
	echo "RESULT $policy"
	workers=""
	for number in 1 2 3 4 5 6; do w$number "$seconds" /run/progress & workers="$workers $!"; done
	wait $workers
	kill $pid; wait $pid
	grep '"about":"shares"' /tmp/log | tail -n 1
done
echo "RESULT end"
