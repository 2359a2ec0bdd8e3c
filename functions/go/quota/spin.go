package quota

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

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
	CPUNs          int64 // The whole process's CPU time at its start; 0 where it was not asked for.
}

// Spun is what spinning threads saw.
type Spun struct {
	WallNs    int64
	CPUNs     int64
	Stretches [][]Stretch
}

// Spin keeps so many threads busy for so long, each reading the clock.
func Spin(threads int, durationNs int64) Spun {
	// A goroutine without a processor of the runtime would wait for one, and that would look like a gap.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(threads+1, runtime.GOMAXPROCS(0))))
	spun := Spun{Stretches: make([][]Stretch, threads)}
	cpuNs := make([]int64, threads)
	begin := clock.NowNs()
	var all sync.WaitGroup
	for i := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			spun.Stretches[i], cpuNs[i] = spinOne(begin, begin+durationNs)
		}()
	}
	all.Wait()
	spun.WallNs = clock.NowNs() - begin
	for _, ns := range cpuNs {
		spun.CPUNs += ns
	}
	return spun
}

func spinOne(begin, end int64) ([]Stretch, int64) {
	stretches := make([]Stretch, 0, 4096)
	cpu := clock.ThreadCPUNs()
	last := clock.NowNs()
	stretch := Stretch{StartNs: last - begin, CPUNs: clock.ProcessCPUNs()}
	charged := last
	for last < end {
		now := clock.NowNs()
		if now-last > gapNs {
			stretch.EndNs = last - begin
			stretches = append(stretches, stretch)
			stretch = Stretch{StartNs: now - begin, CPUNs: clock.ProcessCPUNs()}
		}
		last = now
		if now-charged > chargeNs {
			clock.ThreadCPUNs()
			charged = now
		}
	}
	stretch.EndNs = last - begin
	return append(stretches, stretch), clock.ThreadCPUNs() - cpu
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
		shares = append(shares, overlap(threads, from, from+windowNs)/windowNs)
	}
	return shares
}
