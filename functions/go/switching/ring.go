package switching

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/swtch-tools/swtch/functions/go/document"
	"github.com/swtch-tools/swtch/functions/go/request"
)

// In the environment of a task of the ring: this program again, whatever platform's program it is.
const ringVariable = "SWTCH_RING_TASK"

// What a task inherits.
const (
	fromBefore = 3
	toNext     = 4
)

func init() {
	if os.Getenv(ringVariable) != "" {
		runtime.LockOSThread()
		passOn()
		os.Exit(0)
	}
}

// A task adds its process id to the token, until the parent closes the ring. Its system calls are raw. The runtime would otherwise look
// after each whether another thread should run, which is switches of its own. Here there is nothing else to run.
func passOn() {
	var token [8]byte
	at, own := uintptr(unsafe.Pointer(&token)), uint64(os.Getpid())
	for rawCall(syscall.SYS_READ, fromBefore, at) {
		binary.NativeEndian.PutUint64(token[:], binary.NativeEndian.Uint64(token[:])+own)
		if !rawCall(syscall.SYS_WRITE, toNext, at) {
			return
		}
	}
}

func rawCall(call, file, token uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall(call, file, token, 8)
		if errno != syscall.EINTR {
			return errno == 0 && n == 8
		}
	}
}

// ring is processes joined by pipes; this one is its first.
type ring struct {
	pipes []rawPipe // From task i to the next.
	alone []rawPipe // For the baseline.
	tasks []*exec.Cmd
	token []byte
	check *document.Check
	sum   int64 // Of all process ids.
}

func openRing(asked request.Request) (*exchange, error) {
	n := asked.RingTasks
	r := &ring{token: make([]byte, 8), sum: int64(os.Getpid()), check: &document.Check{What: "sum of process ids", OK: true}}
	for range n {
		for _, pipes := range []*[]rawPipe{&r.pipes, &r.alone} {
			p, err := openRawPipe()
			if err != nil {
				r.close()
				return nil, err
			}
			*pipes = append(*pipes, p)
		}
	}
	pids := []int{os.Getpid()}
	for i := 1; i < n; i++ {
		if err := r.start(i); err != nil {
			r.close()
			return nil, fmt.Errorf("task %d of the ring did not start: %w", i+1, err)
		}
		pid := r.tasks[i-1].Process.Pid
		pids, r.sum = append(pids, pid), r.sum+int64(pid)
	}
	laps := (asked.SwitchesPerBatch + n - 1) / n
	return &exchange{
		tasks: "processes", taskCount: n, baseline: fmt.Sprintf("one process, %d pipes", n), switches: laps * n, mustSwitch: true,
		countsCost: true, counts: func() counts { return countsOf(pids) }, check: r.check, stop: r.close,
		runGross:    func() error { return r.laps(laps) },
		runBaseline: func() error { return r.lapsAlone(laps) },
	}, nil
}

func (r *ring) start(i int) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	task := exec.Command(path)
	// One thread runs; the others are the runtime's.
	task.Env = append(os.Environ(), ringVariable+"=1", "GOMAXPROCS=1")
	before, next := file(r.pipes[i-1].read), file(r.pipes[i].write)
	task.ExtraFiles = []*os.File{before, next}
	err = task.Start()
	before.Close()
	next.Close()
	if err == nil {
		r.tasks = append(r.tasks, task)
	}
	return err
}

// A copy, which may be closed when the task has it.
func file(fd int) *os.File {
	copied, err := syscall.Dup(fd)
	if err != nil {
		return nil
	}
	syscall.CloseOnExec(copied)
	return os.NewFile(uintptr(copied), "ring")
}

func (r *ring) laps(times int) error {
	last := len(r.pipes) - 1
	own := uint64(os.Getpid())
	for range times {
		binary.NativeEndian.PutUint64(r.token, own)
		if err := syscallWrite(r.pipes[0].write, r.token); err != nil {
			return err
		}
		if err := receive(r.pipes[last].read, r.token); err != nil {
			return err
		}
		r.check.Expected += r.sum
		r.check.Found += int64(binary.NativeEndian.Uint64(r.token))
	}
	r.check.OK = r.check.Expected == r.check.Found
	return nil
}

// The same laps by one process.
func (r *ring) lapsAlone(times int) error {
	token := make([]byte, 8)
	for range times {
		for _, p := range r.alone {
			if err := roundTrips(1, p.write, p.read, token); err != nil {
				return err
			}
		}
	}
	return nil
}

// Every task ends when no process holds the writing end before it.
func (r *ring) close() {
	for _, p := range append(r.pipes, r.alone...) {
		p.close()
	}
	for _, task := range r.tasks {
		task.Wait()
	}
}
