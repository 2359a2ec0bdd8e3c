// Package document is what a function answers: swtch/faas/2, the same in every language. Nil is null, and has its reason in Unavailable.
package document

import "github.com/swtch-tools/swtch/functions/go/spin"

// Document is one invocation's answer.
type Document struct {
	Schema       string          `json:"schema"`
	CreatedAt    string          `json:"created_at"`
	Handler      Handler         `json:"handler"`
	Platform     Platform        `json:"platform"`
	Invocation   Invocation      `json:"invocation"`
	Host         Host            `json:"host"`
	Request      any             `json:"request"`
	Measurements []Measurement   `json:"measurements"`
	Clock        Clock           `json:"clock"`
	CPU          *CPU            `json:"cpu"`
	Throttling   *Throttling     `json:"throttling"`
	Work         *Work           `json:"work"`
	Usage        Usage           `json:"usage"`
	Unavailable  UnavailableList `json:"unavailable"`
}

// Schema of an answer, and of a refusal.
const (
	Schema      = "swtch/faas/2"
	ErrorSchema = "swtch/faas-error/1"
)

// Handler is this program.
type Handler struct {
	Version        string  `json:"version"`
	Language       string  `json:"language"`
	Runtime        string  `json:"runtime"`
	RuntimeVersion string  `json:"runtime_version"`
	Libc           *string `json:"libc"`
}

// Platform is what the platform says of itself.
type Platform struct {
	Name     string   `json:"name"`
	Function *string  `json:"function"`
	MemoryMB *int64   `json:"memory_mb"`
	CPUs     *float64 `json:"cpus"`
	Source   *string  `json:"source"`
}

// Invocation is which one of this process it is.
type Invocation struct {
	Number       int64   `json:"number"`
	Cold         bool    `json:"cold"`
	ID           *string `json:"id"`
	ProcessAgeNs int64   `json:"process_age_ns"`
}

// Host is what the function runs on.
type Host struct {
	Architecture     string  `json:"architecture"`
	KernelRelease    string  `json:"kernel_release"`
	CPUModel         *string `json:"cpu_model"`
	CPUsOnline       int     `json:"cpus_online"`
	CPUsAllowed      int     `json:"cpus_allowed"`
	MemoryLimitBytes *int64  `json:"memory_limit_bytes"`
	Sandbox          *string `json:"sandbox"`
}

// Measurement is one method's switches.
type Measurement struct {
	Method           string    `json:"method"`
	Tasks            string    `json:"tasks"`
	TaskCount        int       `json:"task_count"`
	Baseline         string    `json:"baseline"`
	Pinned           bool      `json:"pinned"`
	CPU              *int      `json:"cpu"`
	SwitchesPerBatch int       `json:"switches_per_batch"`
	Batches          int       `json:"batches"`
	StoppedBy        string    `json:"stopped_by"`
	MedianNs         float64   `json:"median_ns"` // Of the net time for a switch.
	Switches         Switches  `json:"switches"`
	Check            *Check    `json:"check"`
	BatchesNs        BatchesNs `json:"batches_ns"`
}

// Switches are those made in the gross batches.
type Switches struct {
	Expected    int64    `json:"expected"`
	Voluntary   *int64   `json:"voluntary"`
	Involuntary *int64   `json:"involuntary"`
	CountedBy   *string  `json:"counted_by"`
	PerExpected *float64 `json:"per_expected"`
}

// Check is that a token passed through every task.
type Check struct {
	What     string `json:"what"`
	Expected int64  `json:"expected"`
	Found    int64  `json:"found"`
	OK       bool   `json:"ok"`
}

// BatchesNs are the times of whole batches.
type BatchesNs struct {
	Gross    []int64 `json:"gross"`
	Baseline []int64 `json:"baseline"`
}

// Clock is what times were read from.
type Clock struct {
	ResolutionNs int64   `json:"resolution_ns"`
	CostNs       float64 `json:"cost_ns"`
	Source       string  `json:"source"`
}

// CPU is what the spinners received.
type CPU struct {
	Received float64 `json:"received"`
	SpunNs   int64   `json:"spun_ns"`
	Spinners int     `json:"spinners"`
}

// Throttling is the spinners' timeline, and the quota by the platform's own numbers.
type Throttling struct {
	Spun     *Spun          `json:"spun"`
	Platform *PlatformQuota `json:"platform"`
}

// Spun is when each spinner ran.
type Spun struct {
	SpanNs     int64             `json:"span_ns"`
	From       string            `json:"from"`
	OthersCPUs float64           `json:"others_cpus"`
	Intervals  [][]spin.Interval `json:"intervals"`
}

// PlatformQuota is the cgroup's own numbers, their difference over the invocation.
type PlatformQuota struct {
	Version          int    `json:"version"`
	PeriodNs         *int64 `json:"period_ns"`
	QuotaNs          *int64 `json:"quota_ns"`
	Periods          *int64 `json:"periods"`
	PeriodsThrottled *int64 `json:"periods_throttled"`
	ThrottledNs      *int64 `json:"throttled_ns"`
	Source           string `json:"source"`
}

// Work is a fixed amount of it.
type Work struct {
	AskedMs    float64 `json:"asked_ms"`
	WallNs     int64   `json:"wall_ns"`
	CPUNs      int64   `json:"cpu_ns"`
	Iterations int64   `json:"iterations"`
}

// Usage is the whole invocation's.
type Usage struct {
	WallNs      int64  `json:"wall_ns"`
	CPUNs       int64  `json:"cpu_ns"`
	Voluntary   *int64 `json:"voluntary"`
	Involuntary *int64 `json:"involuntary"`
	MaxRSSBytes *int64 `json:"max_rss_bytes"`
}

// Unavailable is a field that could not be had.
type Unavailable struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// UnavailableList is filled in while measuring.
type UnavailableList []Unavailable

// Add notes the path of a field, parted by dots, and the reason in one line.
func (list *UnavailableList) Add(what, why string) {
	*list = append(*list, Unavailable{what, why})
}

// Refusal is the answer to a request that cannot be understood.
type Refusal struct {
	Schema string `json:"schema"`
	Error  string `json:"error"`
}
