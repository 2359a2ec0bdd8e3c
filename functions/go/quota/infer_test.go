package quota

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

type gapVectors struct {
	Tolerance float64
	Vectors   []struct {
		Name     string
		Expected struct {
			PeriodNs *float64 `json:"period_ns"`
			QuotaNs  *float64 `json:"quota_ns"`
			CPUs     float64
			Why      string
		}
		Spinners [][][2]int64
	}
}

func TestGapsTellTheQuota(t *testing.T) {
	text, err := os.ReadFile("../../vectors/gaps.json")
	if err != nil {
		t.Fatal(err)
	}
	var file gapVectors
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, vector := range file.Vectors {
		t.Run(vector.Name, func(t *testing.T) {
			threads := make([][]Interval, len(vector.Spinners))
			for i, spinner := range vector.Spinners {
				for _, s := range spinner {
					threads[i] = append(threads[i], Interval{StartNs: s[0], EndNs: s[1]})
				}
			}
			found, err := Infer(threads)
			expected := vector.Expected
			if expected.PeriodNs == nil {
				if err == nil {
					t.Fatalf("found a quota that is not there: %+v", found)
				}
				if why := err.Error(); !strings.Contains(why, expected.Why) || strings.Contains(why, "\n") {
					t.Errorf("%q does not say %q in a line", why, expected.Why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			near := func(what string, got, want float64) {
				if math.Abs(got/want-1) > file.Tolerance {
					t.Errorf("%s: %v, not %v", what, got, want)
				}
			}
			near("period", found.PeriodNs, *expected.PeriodNs)
			near("quota", found.QuotaNs, *expected.QuotaNs)
			near("cpus", found.QuotaNs/found.PeriodNs, expected.CPUs)
		})
	}
}
