// Package work does a fixed amount of work: a number of iterations, or as many as take so much CPU time where nothing interferes.
package work

import (
	"runtime"
	"sync"

	"github.com/swtch-tools/swtch/functions/go/clock"
	"github.com/swtch-tools/swtch/functions/go/document"
)

const (
	// A calibration goes on until it has had so much CPU time.
	calibrationNs = 5_000_000
	chunk         = 10_000
)

var sink uint64

var perMs = sync.OnceValue(calibrate)

// Do works for that many iterations. With 0 it works for this many milliseconds of CPU time, by the speed that this process found at its
// first work. Two processes calibrate differently: only the same iterations can be compared. done is called before the CPU clock is read.
// At that the kernel charges the work, and under a quota may stop it.
func Do(ms float64, iterations int64, done func()) document.Work {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if iterations == 0 {
		iterations = int64(ms * perMs())
	}
	wall, cpu := clock.NowNs(), clock.ThreadCPUNs()
	iterate(iterations)
	wall = clock.NowNs() - wall
	done()
	return document.Work{AskedMs: ms, Iterations: iterations, CPUNs: clock.ThreadCPUNs() - cpu, WallNs: wall}
}

// The fastest of several: what disturbs makes slower only.
func calibrate() float64 {
	fastest := 0.0
	for range 3 {
		begin, done, spent := clock.ThreadCPUNs(), int64(0), int64(0)
		for spent < calibrationNs/3 {
			iterate(chunk)
			done += chunk
			spent = clock.ThreadCPUNs() - begin
		}
		fastest = max(fastest, float64(done)/float64(spent)*1e6)
	}
	return fastest
}

// Knuth's MMIX generator: each step needs the one before, so that no compiler shortens it.
func iterate(times int64) {
	x := sink
	for range times {
		x = x*6364136223846793005 + 1442695040888963407
	}
	sink = x
}
