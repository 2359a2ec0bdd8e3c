package spin

import (
	"strings"
	"testing"
	"time"
)

const (
	short = 30 * time.Millisecond
	// The last that a mask has a place for; no machine of these tests has it.
	noCPU = 8191
)

// The program of a test is started again as any other.
func TestProcessesSpin(t *testing.T) {
	spun := Spin(2, short, false, nil)
	checkSpun(t, spun, 2)
	if !strings.HasPrefix(spun.From, "gaps of 2 spinning processes over 0.") {
		t.Errorf("from: %s", spun.From)
	}
}

func TestThreadsSpinWhereThereCanBeNoProcesses(t *testing.T) {
	if _, err := spinProcesses([]int{noCPU}, short.Nanoseconds()); err == nil {
		t.Error("a spinner was pinned to a CPU that is not there")
	}
	spun := Spin(1, short, true, []int{noCPU})
	checkSpun(t, spun, 1)
	if !strings.HasPrefix(spun.From, "gaps of 1 spinning threads over 0.") || !strings.Contains(spun.From, "; no processes: ") || strings.Contains(spun.From, "\n") {
		t.Errorf("from: %s", spun.From)
	}
}

func checkSpun(t *testing.T, spun Spun, spinners int) {
	t.Helper()
	if len(spun.Intervals) != spinners || spun.CPUNs <= 0 || spun.WallNs < short.Nanoseconds() {
		t.Fatalf("%d spinners, %d ns CPU time, %d ns", len(spun.Intervals), spun.CPUNs, spun.WallNs)
	}
	for _, intervals := range spun.Intervals {
		for i, s := range intervals {
			if s[1] < s[0] || s[0] < 0 || s[2] < 0 || i > 0 && s[0] < intervals[i-1][1] {
				t.Errorf("interval %d: %+v", i, s)
			}
		}
	}
}
