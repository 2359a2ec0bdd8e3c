# Loads that upset schedulers, one after the other: "CHECK load state" says whether the scheduler is still there after each.
# SCHEDULER runs; each load lasts SECONDS_EACH, CROWD tasks spin and at least as many talk.
state() { cat /sys/kernel/sched_ext/state; }
check() {
	echo "CHECK $1 $(state)"
	[ "$(state)" = enabled ] && return
	# Why, in its own words and the kernel's.
	tail -c 4000 /tmp/log; dmesg | tail -n 30; exit 1
}
now() { cut -d. -f1 /proc/uptime; }
# Sets $ran to how long a process has run, us.
ran() { read -r ran rest < "/proc/$1/schedstat"; ran=$((ran / 1000)); }

$SCHEDULER --json > /tmp/log 2>&1 & pid=$!
while [ "$(state)" != enabled ] && [ -d /proc/$pid ]; do sleep 0.1; done

stress-ng --cpu 8 --fork 4 --switch 4 --timeout "$SECONDS_EACH" --metrics-brief 2>&1 | grep -E 'cpu|fork|switch|failed'
check load

end=$(($(now) + SECONDS_EACH))
(
	cycles=0
	while [ "$(now)" -lt $end ]; do
		for cpu in 2 3; do
			echo 0 > /sys/devices/system/cpu/cpu$cpu/online && cycles=$((cycles + 1)); sleep 0.3
			echo 1 > /sys/devices/system/cpu/cpu$cpu/online; sleep 0.2
		done
	done
	echo "COUNT hotplug $cycles"
) & plugging=$!
stress-ng --cpu 6 --switch 2 --timeout "$SECONDS_EACH" > /dev/null 2>&1; wait $plugging
check hotplug

# 40 tasks a group.
end=$(($(now) + SECONDS_EACH)); runs=0
while [ "$(now)" -lt $end ]; do hackbench -p -g $((CROWD / 40)) -l 5 > /dev/null 2>&1 && runs=$((runs + 1)); done
echo "COUNT talkers $runs"
check talkers

# Each is stopped at once and all go on together: while they spin a shell would not get to start them.
spinners=""
for spinner in $(seq "$CROWD"); do (while :; do :; done) & kill -STOP $!; spinners="$spinners $!"; done
sleep 1
for spinner in $spinners; do ran "$spinner"; eval "before$spinner=$ran"; done
kill -CONT $spinners
sleep "$SECONDS_EACH"; kill -STOP $spinners
alive=0; least=""; most=0
for spinner in $spinners; do
	ran "$spinner"; us=$((ran - before$spinner))
	[ $us -gt 0 ] && alive=$((alive + 1))
	[ $us -gt $most ] && most=$us
	{ [ -z "$least" ] || [ $us -lt "$least" ]; } && least=$us
done
kill -KILL $spinners; wait $spinners 2> /dev/null
echo "COUNT spinners $alive"
echo "spinners ran for $least to $most us"
check spinners

# Others' affinities, so that changes come as often however long the changed ones wait.
shaken=""
for worker in 1 2 3 4 5 6; do worker "$SECONDS_EACH" > /dev/null & shaken="$shaken $!"; done
echo "COUNT affinity $(chrt -f 50 shaker "$SECONDS_EACH" $shaken)"; wait $shaken
check affinity

workers=""
for worker in 1 2 3 4 5 6; do worker "$SECONDS_EACH" > /tmp/worker$worker & workers="$workers $!"; done
taskset -c 1 chrt -f 50 worker "$SECONDS_EACH" > /tmp/hog; wait $workers
for worker in 1 2 3 4 5 6; do read -r name done < /tmp/worker$worker; echo "COUNT worker$worker $done"; done
check hog

kill $pid; wait $pid; echo "COUNT status $?"
tail -n 1 /tmp/log
dmesg | grep -E 'WARNING|BUG|stall|lockup|hung|Call Trace' && echo "FAIL the kernel log has warnings"
echo "CHECK end $(state)"
