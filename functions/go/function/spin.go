package function

import (
	"time"

	"github.com/swtch-tools/swtch/functions/go/document"
	"github.com/swtch-tools/swtch/functions/go/host"
	"github.com/swtch-tools/swtch/functions/go/request"
	"github.com/swtch-tools/swtch/functions/go/spin"
)

// spun is the raw timeline of spinners, from which the quota is inferred where the answer is read (crates/faas).
func spun(asked request.Request, missing *document.UnavailableList) (*document.CPU, *document.Throttling) {
	if asked.SpinMs == 0 {
		missing.Add("cpu", "the request has spin_ms 0")
		missing.Add("throttling.spun", "the request has spin_ms 0")
		return nil, &document.Throttling{}
	}
	seen := spin.Spin(asked.Spinners, time.Duration(asked.SpinMs*1e6), asked.Pin, host.AllowedCPUs())
	cpu := &document.CPU{Received: float64(seen.CPUNs) / float64(seen.WallNs), SpunNs: seen.CPUNs, Spinners: asked.Spinners}
	return cpu, &document.Throttling{Spun: &document.Spun{SpanNs: seen.WallNs, From: seen.From, Intervals: seen.Intervals}}
}
