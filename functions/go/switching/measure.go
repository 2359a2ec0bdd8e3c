// Package switching measures what it costs to hand the CPU from one task to another, batch by batch, each beside its baseline.
package switching

import (
	"fmt"
	"math"
	"slices"

	"github.com/swtch-tools/swtch/functions/go/clock"
	"github.com/swtch-tools/swtch/functions/go/document"
	"github.com/swtch-tools/swtch/functions/go/request"
)

const (
	// Looking after every batch would stop by luck.
	lookEvery = 10
	// With fewer values no pair of order statistics holds the median with 95 %.
	fewest = 6
)

// exchange is tasks that hand the CPU to each other. The first task is the caller's thread.
type exchange struct {
	tasks         string
	taskCount     int
	baseline      string
	switches      int // In a batch; whole round trips or laps.
	runGross      func() error
	runBaseline   func() error
	counts        counter
	countsCost    bool // Whether counting takes longer than a batch; then it is done once, baselines included, which do not switch.
	mustSwitch    bool // Whether the kernel must have switched; what stays in a runtime's scheduler need not.
	check         *document.Check
	stop          func()
	gross, around []int64
	made          counts
}

var openers = map[string]func(request.Request) (*exchange, error){
	"pipe": openPipes, "condvar": openCondvar, "ring": openRing, "channel": openChannels,
}

// Measure runs the methods asked for, one after the other. Methods that cannot be measured are in the list instead of the answer.
func Measure(asked request.Request, gvisor bool, unavailable *document.UnavailableList) []document.Measurement {
	measurements := []document.Measurement{}
	for _, method := range asked.Methods {
		place := fmt.Sprintf("measurements.%d", len(measurements))
		measurement, err := measure(method, asked, gvisor, place, unavailable)
		if err != nil {
			unavailable.Add("measurements."+method, err.Error())
			continue
		}
		measurements = append(measurements, measurement)
	}
	return measurements
}

func measure(method string, asked request.Request, gvisor bool, place string, unavailable *document.UnavailableList) (
	measurement document.Measurement, err error,
) {
	onOwnThread(asked.Pin && method != "channel", func(pinned pinning) {
		var x *exchange
		if x, err = openers[method](asked); err != nil {
			return
		}
		defer x.stop()
		var stoppedBy string
		if stoppedBy, err = x.repeat(asked); err != nil {
			return
		}
		if pinned.failed != nil {
			unavailable.Add(place+".cpu", pinned.failed.Error())
		} else if asked.Pin && method == "channel" {
			unavailable.Add(place+".cpu", "goroutines that hand over by a channel have no thread of their own to pin")
		}
		measurement = x.summary(method)
		measurement.StoppedBy = stoppedBy
		measurement.Pinned, measurement.CPU = pinned.cpu != nil, pinned.cpu
		measurement.Switches = x.switchesMade(gvisor, place, unavailable)
	})
	return measurement, err
}

func (x *exchange) repeat(asked request.Request) (stoppedBy string, err error) {
	// Warming up: pages, caches, and threads that have begun.
	for _, run := range []func() error{x.runGross, x.runBaseline} {
		if err := run(); err != nil {
			return "", err
		}
	}
	if x.countsCost {
		before := x.counts()
		defer func() { x.made = x.counts().since(before) }()
	}
	end := clock.NowNs() + int64(asked.TimeLimitMs*1e6)
	for len(x.gross) < asked.MaxBatches {
		if err := x.pair(); err != nil {
			return "", err
		}
		enough := len(x.gross) >= asked.MinBatches && len(x.gross)%lookEvery == 0
		if enough && narrow(x.gross, asked.Interval) {
			return "interval", nil
		}
		if clock.NowNs() >= end {
			return "time limit", nil
		}
	}
	return "batch limit", nil
}

// pair is a batch, and its baseline right after it.
func (x *exchange) pair() error {
	var before counts
	if !x.countsCost {
		before = x.counts()
	}
	gross, err := timed(x.runGross)
	if err != nil {
		return err
	}
	if !x.countsCost {
		x.made.add(x.counts().since(before))
	}
	around, err := timed(x.runBaseline)
	x.gross, x.around = append(x.gross, gross), append(x.around, around)
	return err
}

func timed(run func() error) (int64, error) {
	begin := clock.NowNs()
	err := run()
	return clock.NowNs() - begin, err
}

// narrow says whether the wider side of the median's 95 % interval is within this part of it; ranks by the normal approximation (Conover 1999,
// 3.2). The statistics of an answer are made where it is read (crates/faas).
func narrow(values []int64, part float64) bool {
	n := len(values)
	if n < fewest {
		return false
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := median(sorted)
	rank := max(1, int((float64(n)-1.96*math.Sqrt(float64(n)))/2))
	wider := max(float64(sorted[n-rank])-middle, middle-float64(sorted[rank-1]))
	return middle != 0 && wider <= part*math.Abs(middle)
}

func median(sorted []int64) float64 {
	n := len(sorted)
	return float64(sorted[(n-1)/2]+sorted[n/2]) / 2
}

func (x *exchange) summary(method string) document.Measurement {
	net := make([]int64, len(x.gross))
	for i, gross := range x.gross {
		net[i] = gross - x.around[i]
	}
	slices.Sort(net)
	return document.Measurement{
		Method: method, Tasks: x.tasks, TaskCount: x.taskCount, Baseline: x.baseline, SwitchesPerBatch: x.switches,
		Batches: len(x.gross), MedianNs: median(net) / float64(x.switches), Check: x.check,
		BatchesNs: document.BatchesNs{Gross: x.gross, Baseline: x.around},
	}
}

func (x *exchange) switchesMade(gvisor bool, place string, unavailable *document.UnavailableList) document.Switches {
	made := document.Switches{Expected: int64(x.switches) * int64(len(x.gross))}
	if !x.made.told || (x.mustSwitch && x.made.voluntary+x.made.involuntary == 0) {
		unavailable.Add(place+".switches.voluntary", "the kernel's counter did not move although tasks waited for each other")
		unavailable.Add(place+".switches.involuntary", "the kernel's counter did not move although tasks waited for each other")
		return made
	}
	by := x.made.by
	made.Voluntary, made.CountedBy = &x.made.voluntary, &by
	total := x.made.voluntary
	if gvisor {
		unavailable.Add(place+".switches.involuntary", "gVisor always says 0")
	} else {
		made.Involuntary = &x.made.involuntary
		total += x.made.involuntary
	}
	per := float64(total) / float64(made.Expected)
	made.PerExpected = &per
	return made
}
