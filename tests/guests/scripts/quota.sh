# A task that computes under a quota of a fifth of a CPU: for how long it waited for its quota, as the kernel and as swtch count it.
group=/sys/fs/cgroup/quota
echo +cpu > /sys/fs/cgroup/cgroup.subtree_control
mkdir $group
echo "20000 100000" > $group/cpu.max
(echo 0 > $group/cgroup.procs; exec sh -c 'while :; do :; done') & pid=$!
sleep 0.3
grep throttled_usec $group/cpu.stat
swtch serve --once --no-profile > /tmp/metrics
grep throttled_usec $group/cpu.stat
grep -E '^swtch_cgroup_wait_seconds_total.*/quota"|tasks.quota_ns' /tmp/metrics
kill $pid
