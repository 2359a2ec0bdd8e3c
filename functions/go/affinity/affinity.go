// Package affinity is where threads may run.
package affinity

import (
	"syscall"
	"unsafe"
)

// Own is the calling thread.
const Own = 0

// Mask is a set of CPUs, a bit for each.
type Mask [128]uint64

// Get is where the calling thread may run; nil where the kernel does not say.
func Get() *Mask {
	var cpus Mask
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, Own, unsafe.Sizeof(cpus), uintptr(unsafe.Pointer(&cpus)))
	if errno != 0 {
		return nil
	}
	return &cpus
}

// Set says where a thread may run.
func Set(thread int, cpus *Mask) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(thread), unsafe.Sizeof(*cpus), uintptr(unsafe.Pointer(cpus)))
	if errno != 0 {
		return errno
	}
	return nil
}

// Pin lets a thread run on one CPU only.
func Pin(thread, cpu int) error {
	var cpus Mask
	cpus[cpu/64] = 1 << (cpu % 64)
	return Set(thread, &cpus)
}

// CurrentCPU is where the calling thread runs.
func CurrentCPU() (int, error) {
	var cpu uint32
	if _, _, errno := syscall.RawSyscall(sysGetcpu, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return 0, errno
	}
	return int(cpu), nil
}
