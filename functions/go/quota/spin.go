package quota

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/swtch-tools/swtch/functions/go/clock"
)

const (
	// A jump of the clock beyond this is a gap: interrupts are shorter.
	gapNs = 200_000
	// How often the kernel is made to charge the running time.
	chargeNs = 100_000
)

// Stretch is a time without a gap, since the beginning of the spinning.
type Stretch struct {
	StartNs, EndNs int64
	CPUNs          int64 // The spinner's CPU time at its start; 0 where it was not asked for.
}

// Spun is what spinners saw.
type Spun struct {
	WallNs    int64
	CPUNs     int64
	Stretches [][]Stretch
	From      string // What spun, and why in threads of this process if it did.
}

// Spin keeps so many processes busy for so long, each reading the clock: threads of this process where there can be no others. Pinned, each
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
	// A goroutine without a processor of the runtime would wait for one, and that would look like a gap.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(threads+1, runtime.GOMAXPROCS(0))))
	spun := Spun{Stretches: make([][]Stretch, threads)}
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
			spun.Stretches[i], cpuNs[i] = spinOne(begin, begin+durationNs, spent, func() bool { return true })
		}()
	}
	all.Wait()
	spun.WallNs = clock.MonotonicNs() - begin
	for _, ns := range cpuNs {
		spun.CPUNs += ns
	}
	return spun
}

// spinOne calls nothing where the runtime could stop it to run something else. Spent is the CPU time that is told.
func spinOne(begin, end int64, spent func() int64, goOn func() bool) ([]Stretch, int64) {
	stretches := make([]Stretch, 0, 4096)
	cpu := spent()
	last := clock.MonotonicNs()
	stretch := Stretch{StartNs: last - begin, CPUNs: cpu}
	charged := last
	for last < end {
		now := clock.MonotonicNs()
		if now-last > gapNs {
			stretch.EndNs = last - begin
			stretches = append(stretches, stretch)
			stretch = Stretch{StartNs: now - begin, CPUNs: spent()}
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
	stretch.EndNs = last - begin
	return append(stretches, stretch), spent() - cpu
}

// Idle is when no thread ran, from the beginning of the spinning: [start, length].
func Idle(threads [][]Stretch) [][2]int64 {
	var all []Stretch
	for _, stretches := range threads {
		all = append(all, stretches...)
	}
	slices.SortFunc(all, func(a, b Stretch) int { return cmp.Compare(a.StartNs, b.StartNs) })
	idle := [][2]int64{}
	var reached int64
	for _, s := range all {
		if s.StartNs-reached > gapNs {
			idle = append(idle, [2]int64{reached, s.StartNs - reached})
		}
		reached = max(reached, s.EndNs)
	}
	return idle
}

// Shares is how many CPUs the threads had in each whole window of time.
func Shares(threads [][]Stretch, firstNs, windowNs, endNs float64) []float64 {
	var shares []float64
	for from := firstNs; from+windowNs <= endNs; from += windowNs {
		ran := 0.0
		for _, stretches := range threads {
			ran += overlap(stretches, from, from+windowNs)
		}
		shares = append(shares, ran/windowNs)
	}
	return shares
}
