// Package switching measures what it costs to hand the CPU from one task to another, batch by batch, each beside its baseline.
package switching

import (
	"fmt"

	"github.com/swtch-tools/swtch/functions/go/clock"
	"github.com/swtch-tools/swtch/functions/go/document"
	"github.com/swtch-tools/swtch/functions/go/request"
	"github.com/swtch-tools/swtch/functions/go/stats"
)

// Looking after every batch would stop by luck.
const lookEvery = 10

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
		measurement = x.summary(method, asked.Samples)
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
		if enough && stats.Of(x.perSwitch(x.gross)).Narrow(asked.Interval) {
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

func (x *exchange) perSwitch(batches []int64) []float64 {
	values := make([]float64, len(batches))
	for i, ns := range batches {
		values[i] = float64(ns) / float64(x.switches)
	}
	return values
}

func (x *exchange) summary(method string, samples bool) document.Measurement {
	gross, baseline := x.perSwitch(x.gross), x.perSwitch(x.around)
	net := make([]float64, len(gross))
	for i := range gross {
		net[i] = gross[i] - baseline[i]
	}
	m := document.Measurement{
		Method: method, Tasks: x.tasks, TaskCount: x.taskCount, Baseline: x.baseline, SwitchesPerBatch: x.switches,
		Batches: len(gross), GrossNs: stats.Of(gross), BaselineNs: stats.Of(baseline), NetNs: stats.Of(net),
		Lag1: stats.Lag1(gross), Check: x.check,
	}
	m.Negative = m.NetNs.Median < 0
	if test := stats.Normality(gross); test != nil {
		m.Normality = &document.Normality{Test: "shapiro-wilk", W: test.W, P: test.P, Normal: test.P >= 0.05}
	}
	if samples {
		m.BatchesNs = &document.BatchesNs{Gross: x.gross, Baseline: x.around}
	}
	return m
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
