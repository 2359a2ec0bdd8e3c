// Package clock reads the kernel's clocks: time that passes, and time that a thread or process had on a CPU.
package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// The kernel's numbers of its CPU clocks, from include/uapi/linux/time.h.
const (
	monotonic  = 1
	processCPU = 2
	threadCPU  = 3
)

var start = time.Now()

// NowNs is CLOCK_MONOTONIC since the program began.
func NowNs() int64 { return int64(time.Since(start)) }

// MonotonicNs is the same clock as all processes see it. Unlike NowNs it is a system call, without a place for the runtime to interfere.
func MonotonicNs() int64 { return read(monotonic) }

// ThreadCPUNs is the CPU time of the calling thread. Asking makes the kernel charge the running time to the quota at once, and not
// at its next tick, as sched_yield would. But it does not give the CPU away.
func ThreadCPUNs() int64 { return read(threadCPU) }

// ProcessCPUNs is the CPU time of all threads of this process.
func ProcessCPUNs() int64 { return read(processCPU) }

func read(id uintptr) int64 {
	var ts syscall.Timespec
	// Raw: the Go scheduler would otherwise look at every call, and move goroutines about.
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		return 0
	}
	return ts.Nano()
}
