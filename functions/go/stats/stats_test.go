package stats

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

type vectors struct {
	Vectors []struct {
		Name     string
		Median   float64
		Mean     float64
		Minimum  float64
		CoV      *float64
		Interval *struct{ Low, High float64 }
		Shapiro  *ShapiroWilk `json:"shapiro_wilk"`
		Lag1     *float64
		Samples  []float64
	}
}

func TestFiguresAreThoseOfTheGoldenVectors(t *testing.T) {
	text, err := os.ReadFile("../../vectors/statistics.json")
	if err != nil {
		t.Fatal(err)
	}
	var file vectors
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Vectors {
		t.Run(v.Name, func(t *testing.T) {
			found := Of(v.Samples)
			near(t, "median", &found.Median, &v.Median, 1e-9)
			near(t, "mean", &found.Mean, &v.Mean, 1e-9)
			near(t, "minimum", &found.Minimum, &v.Minimum, 1e-9)
			near(t, "cov", found.CoV, v.CoV, 1e-9)
			near(t, "lag1", Lag1(v.Samples), v.Lag1, 1e-9)
			if v.Interval != nil {
				near(t, "low", &found.Low, &v.Interval.Low, 1e-9)
				near(t, "high", &found.High, &v.Interval.High, 1e-9)
			} else if found.Confidence != 1-math.Pow(2, float64(1-found.N)) {
				t.Errorf("the range of %d values has the confidence %v", found.N, found.Confidence)
			}
			test := Normality(v.Samples)
			if (test == nil) != (v.Shapiro == nil) {
				t.Fatalf("normality: %v, not %v", test, v.Shapiro)
			}
			if test != nil {
				near(t, "W", &test.W, &v.Shapiro.W, 1e-6)
				near(t, "p", &test.P, &v.Shapiro.P, 1e-6)
			}
		})
	}
}

func near(t *testing.T, what string, found, expected *float64, tolerance float64) {
	t.Helper()
	if (found == nil) != (expected == nil) {
		t.Errorf("%s: %v, not %v", what, found, expected)
	} else if found != nil && math.Abs(*found-*expected) > tolerance*max(1e-300, math.Abs(*expected), tolerance) {
		t.Errorf("%s: %v, not %v", what, *found, *expected)
	}
}
