package switching

import (
	"fmt"
	"runtime"

	"github.com/swtch-tools/swtch/functions/go/affinity"
)

// pinning is where the tasks of a measurement run.
type pinning struct {
	cpu    *int
	failed error
}

// onOwnThread runs on a thread that nothing else uses and that ends afterwards, and with it its place. Threads that a locked goroutine
// starts do not get its place from it: the runtime has others start them.
func onOwnThread(pin bool, run func(pinning)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		var p pinning
		if pin {
			cpu, err := affinity.CurrentCPU()
			if err == nil {
				err = affinity.Pin(affinity.Own, cpu)
			}
			if err == nil {
				p.cpu = &cpu
			} else {
				p.failed = fmt.Errorf("cannot be pinned: %w", err)
			}
		}
		run(p)
	}()
	<-done
}

// partner runs on a thread of its own at the caller's place.
func partner(run func()) {
	cpus := affinity.Get()
	go func() {
		runtime.LockOSThread()
		if cpus != nil {
			affinity.Set(affinity.Own, cpus)
		}
		run()
	}()
}
