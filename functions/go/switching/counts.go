package switching

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// counts is switches that the kernel has counted.
type counts struct {
	voluntary, involuntary int64
	told                   bool
	by                     string
}

type counter func() counts

func (c counts) since(before counts) counts {
	c.voluntary -= before.voluntary
	c.involuntary -= before.involuntary
	c.told = c.told && before.told
	return c
}

func (c *counts) add(more counts) {
	first := c.by == ""
	c.voluntary += more.voluntary
	c.involuntary += more.involuntary
	c.told = more.told && (first || c.told)
	c.by = more.by
}

// Of all threads of this process.
func ownCounts() counts {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return counts{}
	}
	return counts{int64(usage.Nvcsw), int64(usage.Nivcsw), true, "getrusage"}
}

// Of this process and others, which getrusage knows only once they have ended.
func countsOf(pids []int) counts {
	sum := counts{told: true, by: "/proc/self/task/*/status"}
	for _, pid := range pids {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return counts{}
		}
		for _, task := range tasks {
			content, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, task.Name()))
			if err != nil {
				return counts{}
			}
			voluntary, involuntary, found := switchLines(string(content))
			sum.voluntary, sum.involuntary, sum.told = sum.voluntary+voluntary, sum.involuntary+involuntary, sum.told && found
		}
	}
	return sum
}

func switchLines(status string) (voluntary, involuntary int64, found bool) {
	seen := 0
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "voluntary_ctxt_switches":
			voluntary, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			seen++
		case "nonvoluntary_ctxt_switches":
			involuntary, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			seen++
		}
	}
	return voluntary, involuntary, seen == 2
}
