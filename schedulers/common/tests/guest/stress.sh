# Loads that upset schedulers, one after the other: CHECK name state. Needs stress-ng, hackbench, chrt, taskset and worker.
seconds=${SECONDS_EACH:-60}
scheduler=${SCHEDULER:-scx_flsched}
now() { cut -d. -f1 /proc/uptime; }
check() { echo "CHECK $1 $(cat /sys/kernel/sched_ext/state)"; }

$scheduler --json --stats 60 > /tmp/log 2>&1 & pid=$!
while [ "$(cat /sys/kernel/sched_ext/state)" != enabled ]; do sleep 0.1; done
stress-ng --cpu 8 --fork 4 --switch 4 --timeout "$seconds" 2>&1 | tail -n 1; check load

end=$(($(now) + seconds))
(
	cycles=0
	while [ "$(now)" -lt $end ]; do
		for cpu in 2 3; do
			echo 0 > /sys/devices/system/cpu/cpu$cpu/online && cycles=$((cycles + 1)); sleep 0.3
			echo 1 > /sys/devices/system/cpu/cpu$cpu/online; sleep 0.2
		done
	done
	echo "hotplug cycles $cycles"
) & plugging=$!
stress-ng --cpu 6 --switch 2 --timeout "$seconds" 2>&1 | tail -n 1; wait $plugging; check hotplug

end=$(($(now) + seconds)); runs=0
while [ "$(now)" -lt $end ]; do timeout 120 hackbench -g 50 -l 5 > /dev/null 2>&1 && runs=$((runs + 1)); done
echo "runs of 2000 tasks $runs"; check tasks

spinners=""
for spinner in $(seq 2000); do (while :; do :; done) & spinners="$spinners $!"; done
sleep "$seconds"; kill -KILL $spinners; wait $spinners 2> /dev/null; check spinners

stress-ng --affinity 4 --affinity-rand --cpu 4 --timeout "$seconds" 2>&1 | tail -n 1; check affinity

for worker in 1 2 3 4 5 6; do worker "$seconds" > /tmp/worker$worker & done
taskset -c 1 chrt -f 50 worker "$seconds" > /tmp/hog; sleep 5
for worker in 1 2 3 4 5 6; do cat /tmp/worker$worker; done; check hog
kill $pid; wait $pid
tail -n 1 /tmp/log
dmesg | grep -E 'WARNING|BUG|stall|Call Trace' && echo "FAIL the kernel log has warnings"
echo "CHECK end $(cat /sys/kernel/sched_ext/state)"
