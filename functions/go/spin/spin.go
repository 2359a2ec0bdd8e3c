// Package spin keeps processes busy that note when they did not run. The quota is inferred where the answer is read (crates/faas).
package spin

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/swtch-tools/swtch/functions/go/clock"
)

const (
	// A jump of the clock beyond this is a gap: interrupts are shorter.
	gapNs = 200_000
	// How often the kernel is made to charge the running time.
	chargeNs = 100_000
	// Intervals of all spinners; with more of them spinning ends early.
	mostIntervals = 20_000
)

// Interval is a time without a gap, since the beginning of the spinning: start, end, and the CPU time that was charged for it.
type Interval [3]int64

// Spun is what spinners saw.
type Spun struct {
	WallNs    int64
	CPUNs     int64
	Intervals [][]Interval
	From      string // What spun, and why in threads of this process if it did.
}

// Spin keeps this many processes busy for this long, each reading the clock: threads of this process where there can be no others. Pinned, each
// has a CPU of its own when they are as many as the CPUs, and a single one stays where it is.
func Spin(spinners int, duration time.Duration, pinned bool, allowed []int) Spun {
	cpus := make([]int, spinners)
	for i := range cpus {
		cpus[i] = anyCPU
	}
	switch {
	case pinned && len(allowed) == spinners:
		copy(cpus, allowed)
	case pinned && spinners == 1:
		cpus[0] = hereCPU
	}
	spun, err := spinProcesses(cpus, duration.Nanoseconds())
	what := "processes"
	if err != nil {
		spun = spinThreads(spinners, duration.Nanoseconds())
		what = "threads"
	}
	spun.From = fmt.Sprintf("gaps of %d spinning %s over %.2f s", spinners, what, float64(spun.WallNs)/1e9)
	if err != nil {
		spun.From += fmt.Sprintf("; no processes: %v", err)
	}
	return spun
}

func spinThreads(threads int, durationNs int64) Spun {
	// A goroutine without a P (the Go scheduler's slot for running) would wait for one, and that would look like a gap.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(threads+1, runtime.GOMAXPROCS(0))))
	spun := Spun{Intervals: make([][]Interval, threads)}
	cpuNs := make([]int64, threads)
	spent := clock.ThreadCPUNs
	if threads == 1 {
		// The runtime's other threads are charged to the quota too.
		spent = clock.ProcessCPUNs
	}
	begin := clock.MonotonicNs()
	var all sync.WaitGroup
	for i := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			spun.Intervals[i], cpuNs[i] = spinOne(begin, begin+durationNs, mostIntervals/threads, spent, func() bool { return true })
		}()
	}
	all.Wait()
	spun.WallNs = clock.MonotonicNs() - begin
	for _, ns := range cpuNs {
		spun.CPUNs += ns
	}
	return spun
}

// spinOne calls nothing where the runtime could stop it to run something else. Spent is the CPU time that is reported.
func spinOne(begin, end int64, most int, spent func() int64, goOn func() bool) ([]Interval, int64) {
	intervals := make([]Interval, 0, 4096)
	first := spent()
	cpu, last := first, clock.MonotonicNs()
	start, charged := last, last
	for last < end && len(intervals) < most {
		now := clock.MonotonicNs()
		if now-last > gapNs {
			was := cpu
			cpu = spent()
			intervals = append(intervals, Interval{start - begin, last - begin, cpu - was})
			start = now
		}
		last = now
		if now-charged > chargeNs {
			clock.ThreadCPUNs()
			charged = now
			if !goOn() {
				break
			}
		}
	}
	total := spent()
	return append(intervals, Interval{start - begin, last - begin, total - cpu}), total - first
}
