package own

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Lines answers each line of standard input with lines of standard output until it ends, as functions/README.md has it. It ends the process.
// What the function prints goes to standard error, so that it does not come between the answers.
func Lines(function any) {
	answers := os.NewFile(uintptr(must(syscall.Dup(1))), "answers")
	_ = syscall.Dup3(2, 1, 0)
	found, why := Of(function)
	say := func(format string, values ...any) {
		if _, err := fmt.Fprintf(answers, format+"\n", values...); err != nil {
			os.Exit(1)
		}
	}
	say(`{"ready":true}`)
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			if err == io.EOF {
				os.Exit(0)
			}
			fmt.Fprintln(os.Stderr, "swtch-function:", err)
			os.Exit(1)
		}
		if why != nil {
			say(`{"status":500,"document":%s}`, refusal(why))
			continue
		}
		before, begun := now(), time.Now().UnixNano()
		text, err := found.Call(context.Background(), line)
		wall := time.Now().UnixNano() - begun
		if err != nil {
			say(`{"status":500,"document":%s}`, refusal(err))
			continue
		}
		// Reading the CPU time makes the kernel charge it, so that the answer comes first.
		say(`{"status":200,"document":{"schema":%q,"result":%s},"more":true}`, callSchema, text)
		say("%s", took(before, wall))
	}
}

// usage is what the process, its threads and its ended children took so far.
type usage struct {
	CPU         int64 `json:"cpu_ns"`
	Voluntary   int64 `json:"voluntary"`
	Involuntary int64 `json:"involuntary"`
	MaxRSS      int64 `json:"max_rss_bytes"`
	Wall        int64 `json:"wall_ns"`
}

func now() usage {
	var found usage
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var of syscall.Rusage
		if syscall.Getrusage(who, &of) == nil {
			found.CPU += of.Utime.Nano() + of.Stime.Nano()
			found.Voluntary += int64(of.Nvcsw)
			found.Involuntary += int64(of.Nivcsw)
			found.MaxRSS = max(found.MaxRSS, int64(of.Maxrss)*1024)
		}
	}
	return found
}

func took(before usage, wall int64) []byte {
	of := now()
	of.CPU -= before.CPU
	of.Voluntary -= before.Voluntary
	of.Involuntary -= before.Involuntary
	of.Wall = wall
	text, _ := json.Marshal(struct {
		Wall  int64 `json:"wall_ns"`
		CPU   int64 `json:"cpu_ns"`
		Usage usage `json:"usage"`
	}{wall, of.CPU, of})
	return text
}

func must(descriptor int, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "swtch-function:", err)
		os.Exit(1)
	}
	return descriptor
}
