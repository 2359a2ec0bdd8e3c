package function

import (
	"cmp"
	"slices"
	"time"

	"github.com/swtch-tools/swtch/functions/go/document"
	"github.com/swtch-tools/swtch/functions/go/host"
	"github.com/swtch-tools/swtch/functions/go/quota"
	"github.com/swtch-tools/swtch/functions/go/request"
	"github.com/swtch-tools/swtch/functions/go/stats"
)

const (
	mostGaps = 2000
	// Without a period to be found, shares are of this many windows.
	windows = 10
)

func spin(asked request.Request, missing *document.UnavailableList) (*document.CPU, *document.Throttling) {
	throttling := &document.Throttling{Gaps: [][2]int64{}}
	if asked.SpinMs == 0 {
		missing.Add("cpu", "the request has spin_ms 0")
		missing.Add("throttling.inferred", "the request has spin_ms 0")
		return nil, throttling
	}
	spun := quota.Spin(asked.Spinners, time.Duration(asked.SpinMs*1e6), asked.Pin, host.AllowedCPUs())
	span := float64(spun.WallNs)
	first, window := 0.0, span/windows
	inferred := &document.Inferred{From: spun.From}
	received := float64(spun.CPUNs) / span
	found, err := quota.Infer(spun.Intervals)
	if err == nil {
		cpus := found.QuotaNs / found.PeriodNs
		inferred.PeriodNs, inferred.QuotaNs, inferred.CPUs = &found.PeriodNs, &found.QuotaNs, &cpus
		inferred.ThrottledNs, inferred.Gaps, inferred.Periods = found.ThrottledNs, found.Gaps, found.Periods
		first, window = found.FirstNs, found.PeriodNs
	} else {
		inferred.CPUs = &received
		missing.Add("throttling.inferred.period_ns", err.Error())
		missing.Add("throttling.inferred.quota_ns", err.Error())
	}
	throttling.Inferred = inferred
	throttling.Gaps, throttling.GapsLeftOut = longest(quota.Idle(spun.Intervals))
	cpu := &document.CPU{SpunNs: spun.CPUNs, Spinners: asked.Spinners}
	if shares := quota.Shares(spun.Intervals, first, window, span); len(shares) > 0 {
		share := stats.Of(shares)
		cpu.Share = &share
	} else {
		missing.Add("cpu.share", "the spinning was shorter than a period")
	}
	return cpu, throttling
}

func longest(gaps [][2]int64) ([][2]int64, int) {
	left := max(0, len(gaps)-mostGaps)
	if left > 0 {
		slices.SortFunc(gaps, func(a, b [2]int64) int { return cmp.Compare(b[1], a[1]) })
		gaps = gaps[:mostGaps]
		slices.SortFunc(gaps, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	}
	return gaps, left
}
