package switching

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
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
			cpu, err := currentCPU()
			if err == nil {
				err = pinTo(cpu)
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
	cpus := affinity()
	go func() {
		runtime.LockOSThread()
		if cpus != nil {
			setAffinity(cpus)
		}
		run()
	}()
}

type mask [128]uint64

func affinity() *mask {
	var cpus mask
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(cpus), uintptr(unsafe.Pointer(&cpus)))
	if errno != 0 {
		return nil
	}
	return &cpus
}

func setAffinity(cpus *mask) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(*cpus), uintptr(unsafe.Pointer(cpus)))
	if errno != 0 {
		return errno
	}
	return nil
}

func pinTo(cpu int) error {
	var cpus mask
	cpus[cpu/64] = 1 << (cpu % 64)
	return setAffinity(&cpus)
}

func currentCPU() (int, error) {
	var cpu uint32
	if _, _, errno := syscall.RawSyscall(sysGetcpu, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return 0, errno
	}
	return int(cpu), nil
}
