// Package host reads what the function runs on, from files that need no privilege.
package host

import (
	"bytes"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/swtch-tools/swtch/functions/go/document"
)

// Read tells what there is. Root is "/", but in tests.
func Read(root, platform string, unavailable *document.UnavailableList) document.Host {
	allowed := len(AllowedCPUs())
	h := document.Host{
		Architecture: architecture(), KernelRelease: first(root, "proc/sys/kernel/osrelease"), CPUsAllowed: allowed,
		CPUsOnline: online(root, allowed), CPUModel: field(root, "proc/cpuinfo", "model name"), Sandbox: sandbox(root, platform),
	}
	if h.CPUModel == nil {
		unavailable.Add("host.cpu_model", "/proc/cpuinfo has no model name")
	}
	h.MemoryLimitBytes = memoryLimit(root)
	if h.MemoryLimitBytes == nil {
		unavailable.Add("host.memory_limit_bytes", "no cgroup of this process has a limit that can be read")
	}
	return h
}

// The kernel's names.
func architecture() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return runtime.GOARCH
}

// AllowedCPUs are those that the calling thread may run on; none where the kernel does not say.
func AllowedCPUs() []int {
	var mask [128]uint64
	size, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	if errno != 0 {
		return nil
	}
	var cpus []int
	for i, word := range mask[:size/8] {
		for ; word != 0; word &= word - 1 {
			cpus = append(cpus, i*64+bits.TrailingZeros64(word))
		}
	}
	return cpus
}

func online(root string, otherwise int) int {
	count := 0
	for part := range strings.SplitSeq(first(root, "sys/devices/system/cpu/online"), ",") {
		low, high, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(low)
		if err != nil {
			return max(1, otherwise)
		}
		to := from
		if isRange {
			to, _ = strconv.Atoi(high)
		}
		count += to - from + 1
	}
	return max(1, count)
}

// gVisor gives itself away by the kernel that it imitates, Firecracker by the devices on its kernel's command line.
func sandbox(root, platform string) *string {
	version := first(root, "proc/version")
	if strings.Contains(version, "gVisor") || strings.Contains(version, "4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016") {
		return text("gvisor")
	}
	if platform == "lambda" || strings.Contains(first(root, "proc/cmdline"), "virtio_mmio.device=") {
		return text("firecracker")
	}
	return nil
}

// ProcessAgeNs is the time since this process was made, to 10 ms. False where /proc does not say.
func ProcessAgeNs(root string) (int64, bool) {
	// After the name, which may have spaces; start time is field 22 of proc(5), in ticks of 1/100 s.
	_, rest, _ := strings.Cut(first(root, "proc/self/stat"), ") ")
	fields := strings.Fields(rest)
	uptime, err := strconv.ParseFloat(strings.Split(first(root, "proc/uptime"), " ")[0], 64)
	if err != nil || len(fields) < 20 {
		return 0, false
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	return max(0, int64(uptime*1e9)-ticks*10_000_000), err == nil
}

// The first line of a file; empty when there is none.
func first(root, name string) string {
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(content, []byte("\n"))
	return strings.TrimSpace(string(line))
}

// What follows the colon of the first line that begins so.
func field(root, name, key string) *string {
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(content)) {
		label, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(label) == key {
			return text(strings.TrimSpace(value))
		}
	}
	return nil
}

func text(value string) *string { return &value }
