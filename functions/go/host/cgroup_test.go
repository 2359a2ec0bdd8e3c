package host

import (
	"os"
	"path/filepath"
	"testing"
)

// A tree of files under a directory that goes away with the test.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestVersion1HasTheQuotaOfTheGroupAbove(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/self/cgroup":                               "2:cpu,cpuacct:/tier/inner\n0::/\n",
		"proc/self/mountinfo":                            "30 25 0:26 / /sys/fs/cgroup/cpu rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n",
		"sys/fs/cgroup/cpu/tier/cpu.cfs_period_us":       "20000\n",
		"sys/fs/cgroup/cpu/tier/cpu.cfs_quota_us":        "1667\n",
		"sys/fs/cgroup/cpu/tier/cpu.stat":                "nr_periods 5\nnr_throttled 3\nthrottled_time 70\n",
		"sys/fs/cgroup/cpu/tier/inner/cpu.cfs_period_us": "100000\n",
		"sys/fs/cgroup/cpu/tier/inner/cpu.cfs_quota_us":  "-1\n",
	})
	quota := Quota(root)
	if quota == nil || *quota.PeriodNs != 20_000_000 || *quota.QuotaNs != 1_667_000 || *quota.PeriodsThrottled != 3 {
		t.Fatalf("%+v", quota)
	}
}

func TestVersion2InAContainerBeginsAtItsOwnGroup(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/self/cgroup":         "0::/kubepods/pod/function\n",
		"proc/self/mountinfo":      "31 25 0:27 /kubepods/pod/function /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
		"sys/fs/cgroup/cpu.max":    "8333 100000\n",
		"sys/fs/cgroup/cpu.stat":   "usage_usec 9\nnr_periods 4\nnr_throttled 4\nthrottled_usec 12\n",
		"sys/fs/cgroup/memory.max": "134217728\n",
	})
	quota := Quota(root)
	if quota == nil || *quota.QuotaNs != 8_333_000 || *quota.ThrottledNs != 12_000 || quota.Version != 2 {
		t.Fatalf("%+v", quota)
	}
	if limit := memoryLimit(root); limit == nil || *limit != 128<<20 {
		t.Fatalf("%v", limit)
	}
}

func TestNoLimitIsNotANumber(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/self/cgroup":         "0::/\n",
		"proc/self/mountinfo":      "31 25 0:27 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
		"sys/fs/cgroup/cpu.max":    "max 100000\n",
		"sys/fs/cgroup/memory.max": "max\n",
	})
	if quota := Quota(root); quota == nil || quota.QuotaNs != nil || quota.Periods != nil {
		t.Fatalf("%+v", quota)
	}
	if limit := memoryLimit(root); limit != nil {
		t.Fatalf("%v", *limit)
	}
	if quota := Quota(t.TempDir()); quota != nil {
		t.Fatalf("%+v", quota)
	}
}
