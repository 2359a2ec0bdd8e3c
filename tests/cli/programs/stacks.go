package main

import (
	"os"
	"syscall"
)

//go:noinline
func culprit(rounds int) {
	time := syscall.Timespec{Nsec: 200000}
	for range rounds {
		syscall.Nanosleep(&time, nil)
	}
}

func main() {
	culprit(300)
	os.Exit(0)
}
