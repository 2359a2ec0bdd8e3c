package switching

import "github.com/swtch-tools/swtch/functions/go/request"

// Goroutines that hand over by channels: the runtime switches, and the kernel need not. The switches counted say so.
func openChannels(asked request.Request) (*exchange, error) {
	there, back, alone := make(chan byte), make(chan byte), make(chan byte, 1)
	go func() {
		for token := range there {
			back <- token
		}
		close(back)
	}()
	trips := (asked.SwitchesPerBatch + 1) / 2
	return &exchange{
		tasks: "threads", taskCount: 2, baseline: "one goroutine, one channel", switches: 2 * trips, counts: ownCounts,
		runGross:    func() error { return unlocked(trips, there, back) },
		runBaseline: func() error { return unlocked(2*trips, alone, alone) },
		stop: func() {
			close(there)
			<-back
		},
	}, nil
}

// A goroutine that is locked to its thread can be switched by the kernel only.
func unlocked(times int, there, back chan byte) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range times {
			there <- 1
			<-back
		}
	}()
	<-done
	return nil
}
