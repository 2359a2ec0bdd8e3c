package switching

import (
	"sync"

	"github.com/swtch-tools/swtch/functions/go/request"
)

// turns is a flag that two threads take turns by.
type turns struct {
	mutex sync.Mutex
	cond  *sync.Cond
	whose int
	over  bool
}

func (t *turns) take(mine, others int) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for t.whose != mine && !t.over {
		t.cond.Wait()
	}
	t.whose = others
	t.cond.Signal()
	return !t.over
}

// Goroutines that are locked to threads: waking one is waking its thread.
func openCondvar(asked request.Request) (*exchange, error) {
	t := &turns{}
	t.cond = sync.NewCond(&t.mutex)
	ended := make(chan struct{})
	partner(func() {
		defer close(ended)
		for t.take(1, 0) {
		}
	})
	alone := &turns{}
	alone.cond = sync.NewCond(&alone.mutex)
	trips := (asked.SwitchesPerBatch + 1) / 2
	return &exchange{
		tasks: "threads", taskCount: 2, baseline: "one task: lock, signal, unlock", switches: 2 * trips, counts: ownCounts,
		mustSwitch: true,
		runGross: func() error {
			for range trips {
				t.take(0, 1)
			}
			// The other's answer to the last, so that the batch is whole.
			t.mutex.Lock()
			for t.whose != 0 {
				t.cond.Wait()
			}
			t.mutex.Unlock()
			return nil
		},
		runBaseline: func() error {
			for range 2 * trips {
				alone.take(0, 0)
			}
			return nil
		},
		stop: func() {
			t.mutex.Lock()
			t.over = true
			t.cond.Broadcast()
			t.mutex.Unlock()
			<-ended
		},
	}, nil
}
