package switching

import (
	"fmt"
	"syscall"

	"github.com/swtch-tools/swtch/functions/go/request"
)

// rawPipe is a pipe without the runtime's poller, which would let goroutines wait without a switch of the kernel's.
type rawPipe struct{ read, write int }

func openRawPipe() (rawPipe, error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return rawPipe{}, fmt.Errorf("no pipe: %w", err)
	}
	return rawPipe{ends[0], ends[1]}, nil
}

func (p rawPipe) close() {
	syscall.Close(p.read)
	syscall.Close(p.write)
}

// Two threads, each waiting in a read for the other's byte.
func openPipes(asked request.Request) (*exchange, error) {
	var pipes [3]rawPipe
	for i := range pipes {
		p, err := openRawPipe()
		if err != nil {
			for _, open := range pipes[:i] {
				open.close()
			}
			return nil, err
		}
		pipes[i] = p
	}
	there, back, alone := pipes[0], pipes[1], pipes[2]
	ended := make(chan struct{})
	partner(func() {
		defer close(ended)
		token := make([]byte, 1)
		for receive(there.read, token) == nil && syscallWrite(back.write, token) == nil {
		}
	})
	token := []byte{1}
	trips := (asked.SwitchesPerBatch + 1) / 2
	return &exchange{
		tasks: "threads", taskCount: 2, baseline: "one task, one pipe", switches: 2 * trips, counts: ownCounts, mustSwitch: true,
		runGross:    func() error { return roundTrips(trips, there.write, back.read, token) },
		runBaseline: func() error { return roundTrips(2*trips, alone.write, alone.read, token) },
		stop: func() {
			syscall.Close(there.write)
			<-ended
			syscall.Close(there.read)
			back.close()
			alone.close()
		},
	}, nil
}

func roundTrips(times, write, read int, token []byte) error {
	for range times {
		if err := syscallWrite(write, token); err != nil {
			return err
		}
		if err := receive(read, token); err != nil {
			return err
		}
	}
	return nil
}

// The runtime's signals interrupt calls.
func syscallWrite(file int, token []byte) error {
	for {
		_, err := syscall.Write(file, token)
		if err != syscall.EINTR {
			return err
		}
	}
}

func receive(file int, token []byte) error {
	for {
		n, err := syscall.Read(file, token)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case n != len(token):
			return fmt.Errorf("the other task has ended")
		default:
			return nil
		}
	}
}
