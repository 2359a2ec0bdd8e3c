// Package stats sums up batches without assuming that they are normal.
package stats

import (
	"math"
	"slices"
)

// Confidence of the interval of a median.
const Confidence = 0.95

// Estimate summarises all values.
type Estimate struct {
	Median     float64  `json:"median"`
	Low        float64  `json:"low"`
	High       float64  `json:"high"`
	Confidence float64  `json:"confidence"`
	Mean       float64  `json:"mean"`
	Minimum    float64  `json:"minimum"`
	CoV        *float64 `json:"cov"`
	N          int      `json:"n"`
}

// Of sums up at least one value. Below 6 the interval is the range, with the confidence that it has.
func Of(values []float64) Estimate {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	e := Estimate{
		Median: Median(sorted), Low: sorted[0], High: sorted[n-1], Confidence: 1 - math.Pow(2, float64(1-n)),
		Mean: Mean(values), Minimum: sorted[0], CoV: cov(values), N: n,
	}
	if rank := MedianRank(n); rank > 0 {
		e.Low, e.High, e.Confidence = sorted[rank-1], sorted[n-rank], Confidence
	}
	return e
}

// Narrow says whether the wider side of the interval is within this fraction of the median.
func (e Estimate) Narrow(fraction float64) bool {
	wider := max(e.High-e.Median, e.Median-e.Low)
	return e.N >= 6 && e.Median != 0 && wider <= fraction*math.Abs(e.Median)
}

// Mean is the arithmetic mean.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum / float64(len(values))
}

// Median of ascending values.
func Median(sorted []float64) float64 {
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return sorted[middle-1] + 0.5*(sorted[middle]-sorted[middle-1])
}

func cov(values []float64) *float64 {
	mean := Mean(values)
	if len(values) < 2 || mean == 0 {
		return nil
	}
	squares, drift := 0.0, 0.0
	for _, value := range values {
		squares += (value - mean) * (value - mean)
		drift += value - mean
	}
	n := float64(len(values))
	found := math.Sqrt(max(0, squares-drift*drift/n)/(n-1)) / math.Abs(mean)
	return &found
}

// MedianRank is the largest rank r, counted from 1, such that the values at r and n+1-r hold the median with the confidence. Source:
// Conover, "Practical Nonparametric Statistics" (1999), 3.2. 0 when there is none, below 6 values.
func MedianRank(n int) int {
	inside := 1.0
	// The chance of k values below the median, by the exact binomial; logarithms, so that nothing underflows.
	logAll, _ := math.Lgamma(float64(n + 1))
	rank := 0
	for k := 0; 2*k < n; k++ {
		logK, _ := math.Lgamma(float64(k + 1))
		logRest, _ := math.Lgamma(float64(n - k + 1))
		inside -= 2 * math.Exp(logAll-logK-logRest-float64(n)*math.Ln2)
		if inside < Confidence-1e-12 {
			break
		}
		rank = k + 1
	}
	return rank
}

// Lag1 is the correlation of each value with the next: Box and Jenkins (1970), 2.1.5. Nil below 3 values or when all are equal.
func Lag1(values []float64) *float64 {
	if len(values) < 3 || slices.Min(values) == slices.Max(values) {
		return nil
	}
	mean := Mean(values)
	total, shared := 0.0, 0.0
	for i, value := range values {
		total += (value - mean) * (value - mean)
		if i > 0 {
			shared += (values[i-1] - mean) * (value - mean)
		}
	}
	if total <= 0 {
		return nil
	}
	found := shared / total
	return &found
}
