package spin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"github.com/swtch-tools/swtch/functions/go/affinity"
	"github.com/swtch-tools/swtch/functions/go/clock"
)

// In the environment of a spinner: this program again, whatever platform's program it is. Threads of this process would share a quota with
// the runtime's own, which run on other CPUs too. Each CPU takes part of a quota of its own accord and keeps some.
const spinVariable = "SWTCH_SPIN_TASK"

const (
	// Where a spinner pins itself to the CPU that it finds itself on.
	hereCPU = -1
	// Where it runs wherever the kernel lets it.
	anyCPU = -2
	// For all to have read when to begin.
	startNs = 5_000_000
)

func init() {
	if os.Getenv(spinVariable) == "" {
		return
	}
	runtime.LockOSThread()
	if err := spinTask(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type task struct {
	BeginNs, EndNs int64
	Most           int
}

// A spinner reports that it has started, waits for the time to spin, and reports what it saw.
func spinTask(in io.Reader, out io.Writer) error {
	cpu, err := strconv.Atoi(os.Getenv(spinVariable))
	if err != nil {
		return err
	}
	if err := pinAll(cpu); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	var asked task
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return err
	}
	for clock.MonotonicNs() < asked.BeginNs {
	}
	parent := ppid()
	var spun Spun
	intervals, cpuNs := spinOne(asked.BeginNs, asked.EndNs, asked.Most, clock.ProcessCPUNs, func() bool { return ppid() == parent })
	spun.Intervals, spun.CPUNs = [][]Interval{intervals}, cpuNs
	return json.NewEncoder(out).Encode(spun)
}

// Raw: the runtime looks after another system call whether something else should run.
func ppid() uintptr {
	id, _, _ := syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
	return id
}

// pinAll pins the threads that the runtime has; further ones are at the place of the one that starts them.
func pinAll(cpu int) error {
	if cpu == anyCPU {
		return nil
	}
	if cpu == hereCPU {
		here, err := affinity.CurrentCPU()
		if err != nil {
			return err
		}
		cpu = here
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err == nil {
			err = affinity.Pin(id, cpu)
		}
		if err != nil {
			return fmt.Errorf("a spinner cannot be pinned: %w", err)
		}
	}
	return nil
}

// spinner is a process that spins.
type spinner struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func spinProcesses(cpus []int, durationNs int64) (Spun, error) {
	var spinners []*spinner
	defer func() {
		for _, s := range spinners {
			s.end()
		}
	}()
	for _, cpu := range cpus {
		s, err := startSpinner(cpu)
		if err != nil {
			return Spun{}, err
		}
		spinners = append(spinners, s)
	}
	for _, s := range spinners {
		if _, err := s.out.ReadString('\n'); err != nil {
			return Spun{}, fmt.Errorf("a spinner did not start: %w", err)
		}
	}
	begin := clock.MonotonicNs() + startNs
	for _, s := range spinners {
		if err := json.NewEncoder(s.in).Encode(task{begin, begin + durationNs, mostIntervals / len(cpus)}); err != nil {
			return Spun{}, err
		}
	}
	all := Spun{}
	for _, s := range spinners {
		var one Spun
		if err := json.NewDecoder(s.out).Decode(&one); err != nil {
			return Spun{}, fmt.Errorf("a spinner ended without an answer: %w", err)
		}
		last := one.Intervals[0][len(one.Intervals[0])-1]
		// It may have been stopped just before its end.
		all.WallNs = max(all.WallNs, last[1])
		all.CPUNs += one.CPUNs
		all.Intervals = append(all.Intervals, one.Intervals...)
	}
	return all, nil
}

func startSpinner(cpu int) (*spinner, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(path)
	// One thread runs, and nothing stops it: no collector, no signals that ask it to let others run.
	command.Env = append(
		os.Environ(), spinVariable+"="+strconv.Itoa(cpu), "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1")
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	return &spinner{command, in, bufio.NewReader(out)}, nil
}

// end kills it, should it still be there.
func (s *spinner) end() {
	s.command.Process.Kill()
	s.command.Wait()
}
