// Package function is the measurement inside a function, from the request to the document.
package function

import (
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/swtch-tools/swtch/functions/go/clock"
	"github.com/swtch-tools/swtch/functions/go/document"
	"github.com/swtch-tools/swtch/functions/go/host"
	"github.com/swtch-tools/swtch/functions/go/request"
	"github.com/swtch-tools/swtch/functions/go/switching"
	"github.com/swtch-tools/swtch/functions/go/work"
)

// Version of the handlers, all languages alike.
const Version = "0.1.0"

const root = "/"

var (
	// Two measurements at a time would measure each other.
	oneAtATime  sync.Mutex
	invocations int64
)

// Parse reads a request; an error is for the caller, in one line.
func Parse(body []byte, query string) (request.Request, error) {
	return request.Parse(body, query, len(host.AllowedCPUs()))
}

// Answer measures. The id is the platform's name of the invocation, if it has one; worked is called when work that was asked for is done.
func Answer(asked request.Request, platform, id string, worked ...func()) document.Document {
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	invocations++
	began, quota := readUsage(), host.Quota(root)
	d := document.Document{
		Schema: document.Schema, CreatedAt: time.Now().UTC().Format("2006-01-02T15:04:05Z"),
		Handler: document.Handler{
			Version: Version, Language: "go", Runtime: runtime.Compiler, RuntimeVersion: strings.TrimPrefix(runtime.Version(), "go"),
		},
		Platform: host.Platform(platform), Invocation: invocation(id), Request: asked, Clock: readClock(),
		Unavailable: document.UnavailableList{},
	}
	missing := &d.Unavailable
	d.Host = host.Read(root, platform, missing)
	gvisor := d.Host.Sandbox != nil && *d.Host.Sandbox == "gvisor"
	d.Measurements = switching.Measure(asked, gvisor, missing)
	d.CPU, d.Throttling = spun(asked, missing)
	if asked.WorkMs > 0 || asked.Iterations > 0 {
		done := work.Do(asked.WorkMs, int64(asked.Iterations), func() {
			for _, tell := range worked {
				tell()
			}
		})
		d.Work = &done
	}
	d.Throttling.Platform = host.Between(quota, host.Quota(root))
	if d.Throttling.Platform == nil {
		missing.Add("throttling.platform", "no cgroup with the cpu controller can be read")
	}
	d.Usage = readUsage().since(began, gvisor, missing)
	return d
}

func invocation(id string) document.Invocation {
	age, known := host.ProcessAgeNs(root)
	if !known {
		age = clock.NowNs()
	}
	found := document.Invocation{Number: invocations, Cold: invocations == 1, ProcessAgeNs: age}
	if id != "" {
		found.ID = &id
	}
	return found
}

func readClock() document.Clock {
	const times = 2000
	begin := clock.NowNs()
	last, finest := begin, int64(0)
	for range times {
		now := clock.NowNs()
		if step := now - last; step > 0 && (finest == 0 || step < finest) {
			finest = step
		}
		last = now
	}
	return document.Clock{ResolutionNs: finest, CostNs: float64(last-begin) / times, Source: "CLOCK_MONOTONIC"}
}
