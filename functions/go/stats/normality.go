package stats

import (
	"math"
	"slices"
)

// ShapiroWilk is the statistic, and the probability of one as small if the values were normal.
type ShapiroWilk struct{ W, P float64 }

// Normality tests by Royston, "Remark AS R94", Applied Statistics 44 (1995), whose approximations hold up to 5000 values. Nil below 3
// values or when all are equal.
func Normality(values []float64) *ShapiroWilk {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n < 3 || n > 5000 || sorted[0] == sorted[n-1] {
		return nil
	}
	rest := oneMinusW(sorted, upperWeights(n))
	return &ShapiroWilk{W: 1 - rest, P: significance(rest, n)}
}

// The weights of the upper half, the largest value's first; the lower half has the same with the other sign.
func upperWeights(n int) []float64 {
	if n == 3 {
		return []float64{math.Sqrt2 / 2}
	}
	size := float64(n)
	weights := make([]float64, n/2)
	squares := 0.0
	for i := range weights {
		weights[i] = normalQuantile(1 - (float64(i)+0.625)/(size+0.25))
		squares += 2 * weights[i] * weights[i]
	}
	u, norm := 1/math.Sqrt(size), math.Sqrt(squares)
	largest := weights[0]/norm + polynomial(u, 0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)
	if n <= 5 {
		scale := math.Sqrt((squares - 2*weights[0]*weights[0]) / (1 - 2*largest*largest))
		return scaled(weights, scale, largest)
	}
	second := weights[1]/norm + polynomial(u, 0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
	left := squares - 2*(weights[0]*weights[0]+weights[1]*weights[1])
	scale := math.Sqrt(left / (1 - 2*(largest*largest+second*second)))
	return scaled(weights, scale, largest, second)
}

func scaled(weights []float64, scale float64, first ...float64) []float64 {
	for i := range weights {
		if i < len(first) {
			weights[i] = first[i]
		} else {
			weights[i] /= scale
		}
	}
	return weights
}

// 1 - W, without the subtraction that would lose digits: W is the squared correlation of values and weights.
func oneMinusW(sorted, upper []float64) float64 {
	n := len(sorted)
	spread := sorted[n-1] - sorted[0]
	centre := 0.0
	for _, value := range sorted {
		centre += value / spread
	}
	centre /= float64(n)
	var xx, aa, ax float64
	for i, value := range sorted {
		weight := 0.0
		if i < len(upper) {
			weight = -upper[i]
		} else if n-1-i < len(upper) {
			weight = upper[n-1-i]
		}
		deviation := value/spread - centre
		xx, aa, ax = xx+deviation*deviation, aa+weight*weight, ax+weight*deviation
	}
	product := math.Sqrt(xx * aa)
	return min(1, max(0, (product-ax)*(product+ax)/(xx*aa)))
}

// Exact for 3 values, else a log-normal approximation of 1 - W.
func significance(rest float64, n int) float64 {
	if n == 3 {
		return min(1, max(0, 6/math.Pi*(math.Asin(math.Sqrt(1-rest))-math.Pi/3)))
	}
	size, y := float64(n), math.Log(rest)
	var mean, logDeviation float64
	if n <= 11 {
		bound := polynomial(size, -2.273, 0.459)
		if y >= bound {
			return 0
		}
		y = -math.Log(bound - y)
		mean = polynomial(size, 0.544, -0.39978, 0.025054, -6.714e-4)
		logDeviation = polynomial(size, 1.3822, -0.77857, 0.062767, -0.0020322)
	} else {
		mean = polynomial(math.Log(size), -1.5861, -0.31082, -0.083751, 0.0038915)
		logDeviation = polynomial(math.Log(size), -0.4803, -0.082676, 0.0030302)
	}
	return math.Erfc((y-mean)/math.Exp(logDeviation)/math.Sqrt2) / 2
}

func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// Coefficients from the constant term up.
func polynomial(x float64, coefficients ...float64) float64 {
	sum := 0.0
	for _, coefficient := range slices.Backward(coefficients) {
		sum = sum*x + coefficient
	}
	return sum
}
