package function

import (
	"syscall"

	"github.com/swtch-tools/swtch/functions/go/clock"
	"github.com/swtch-tools/swtch/functions/go/document"
)

// usage is of this process and of its children that have ended.
type usage struct {
	wallNs, cpuNs          int64
	voluntary, involuntary int64
	maxRSSBytes            int64
	told                   bool
}

func readUsage() usage {
	sum := usage{wallNs: clock.NowNs(), told: true}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		sum.told = sum.told && syscall.Getrusage(who, &r) == nil
		sum.cpuNs += r.Utime.Nano() + r.Stime.Nano()
		sum.voluntary += int64(r.Nvcsw)
		sum.involuntary += int64(r.Nivcsw)
		sum.maxRSSBytes = max(sum.maxRSSBytes, int64(r.Maxrss)*1024)
	}
	return sum
}

func (u usage) since(began usage, gvisor bool, missing *document.UnavailableList) document.Usage {
	found := document.Usage{WallNs: u.wallNs - began.wallNs, CPUNs: u.cpuNs - began.cpuNs}
	voluntary, involuntary := u.voluntary-began.voluntary, u.involuntary-began.involuntary
	if u.told && u.maxRSSBytes > 0 {
		found.MaxRSSBytes = &u.maxRSSBytes
	} else {
		missing.Add("usage.max_rss_bytes", "getrusage does not say")
	}
	// The threads of a runtime cannot have waited never.
	if u.told && u.voluntary+u.involuntary > 0 {
		found.Voluntary = &voluntary
	} else {
		missing.Add("usage.voluntary", "getrusage does not say")
	}
	switch {
	case gvisor:
		missing.Add("usage.involuntary", "gVisor always says 0")
	case found.Voluntary == nil:
		missing.Add("usage.involuntary", "getrusage does not say")
	default:
		found.Involuntary = &involuntary
	}
	return found
}
