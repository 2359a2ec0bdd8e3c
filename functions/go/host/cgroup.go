package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/swtch-tools/swtch/functions/go/document"
)

// More means no limit: cgroups v1 say "none" by a number near 2^63.
const largestLimit = 1 << 60

// Quota reads the CPU quota that this process is under and what it has cost so far. Nil where no cgroup can be read.
func Quota(root string) *document.PlatformQuota {
	if directories := groups(root, "cpu"); len(directories) > 0 {
		return limited(directories, quotaV1)
	}
	return limited(groups(root, ""), quotaV2)
}

// Between is what it has cost since an earlier reading.
func Between(before, after *document.PlatformQuota) *document.PlatformQuota {
	if before == nil || after == nil || before.Source != after.Source {
		return after
	}
	difference := *after
	difference.Periods = less(after.Periods, before.Periods)
	difference.PeriodsThrottled = less(after.PeriodsThrottled, before.PeriodsThrottled)
	difference.ThrottledNs = less(after.ThrottledNs, before.ThrottledNs)
	return &difference
}

func less(after, before *int64) *int64 {
	if after == nil || before == nil {
		return nil
	}
	return number(max(0, *after-*before))
}

// The innermost group that has a quota; without any, the process's own.
func limited(directories []string, read func(string) *document.PlatformQuota) *document.PlatformQuota {
	var own *document.PlatformQuota
	for _, directory := range directories {
		quota := read(directory)
		if quota == nil {
			continue
		}
		if quota.QuotaNs != nil {
			return quota
		}
		if own == nil {
			own = quota
		}
	}
	return own
}

func quotaV1(directory string) *document.PlatformQuota {
	period := whole(first(directory, "cpu.cfs_period_us"), 1000)
	if period == nil {
		return nil
	}
	source := filepath.Join(directory, "cpu.stat")
	quota := &document.PlatformQuota{
		Version: 1, PeriodNs: period, QuotaNs: whole(first(directory, "cpu.cfs_quota_us"), 1000), Source: source,
		Periods: counter(source, "nr_periods", 1), PeriodsThrottled: counter(source, "nr_throttled", 1),
		ThrottledNs: counter(source, "throttled_time", 1),
	}
	return quota
}

func quotaV2(directory string) *document.PlatformQuota {
	limit, period, found := strings.Cut(first(directory, "cpu.max"), " ")
	if !found {
		return nil
	}
	source := filepath.Join(directory, "cpu.stat")
	return &document.PlatformQuota{
		Version: 2, PeriodNs: whole(period, 1000), QuotaNs: whole(limit, 1000), Source: source,
		Periods: counter(source, "nr_periods", 1), PeriodsThrottled: counter(source, "nr_throttled", 1),
		ThrottledNs: counter(source, "throttled_usec", 1000),
	}
}

func memoryLimit(root string) *int64 {
	var least *int64
	note := func(limit *int64) {
		if limit != nil && *limit < largestLimit && (least == nil || *limit < *least) {
			least = limit
		}
	}
	for _, directory := range groups(root, "memory") {
		note(whole(first(directory, "memory.limit_in_bytes"), 1))
	}
	for _, directory := range groups(root, "") {
		note(whole(first(directory, "memory.max"), 1))
	}
	return least
}

// groups are the directories of this process's cgroup and those above it, innermost first. They are of a controller of version 1, or of
// version 2 for an empty name.
func groups(root, controller string) []string {
	own, known := ownGroup(root, controller)
	content, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if !known || err != nil {
		return nil
	}
	for line := range strings.Lines(string(content)) {
		mount, kind, _ := strings.Cut(line, " - ")
		fields, kinds := strings.Fields(mount), strings.Fields(kind)
		if len(fields) < 5 || len(kinds) < 3 || !holds(kinds, controller) {
			continue
		}
		top := filepath.Join(root, fields[4])
		// Inside a container the mount begins at its own group.
		inner, below := strings.CutPrefix(own, strings.TrimSuffix(fields[3], "/"))
		if !below {
			inner = ""
		}
		return upwards(top, inner)
	}
	return nil
}

func ownGroup(root, controller string) (string, bool) {
	content, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(content)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && has(parts[1], controller) {
			return parts[2], true
		}
	}
	return "", false
}

func holds(kinds []string, controller string) bool {
	if controller == "" {
		return kinds[0] == "cgroup2"
	}
	return kinds[0] == "cgroup" && has(kinds[len(kinds)-1], controller)
}

func has(list, wanted string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if item == wanted {
			return true
		}
	}
	return false
}

func upwards(top, inner string) []string {
	var directories []string
	for path := filepath.Clean("/" + inner); ; path = filepath.Dir(path) {
		directories = append(directories, filepath.Join(top, path))
		if path == "/" {
			return directories
		}
	}
}

// A number that is not negative, times its unit; nil for "max" and -1.
func whole(value string, unit int64) *int64 {
	found, err := strconv.ParseInt(value, 10, 64)
	if err != nil || found < 0 {
		return nil
	}
	return number(found * unit)
}

func counter(file, key string, unit int64) *int64 {
	content, _ := os.ReadFile(file)
	for line := range strings.Lines(string(content)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == key {
			return whole(value, unit)
		}
	}
	return nil
}

func number(value int64) *int64 { return &value }
