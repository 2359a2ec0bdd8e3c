// Package quota finds the CPU quota of a function from inside: threads spin, and the gaps in which they did not run tell it.
package quota

import (
	"maps"
	"math"
	"slices"
	"sort"
)

const (
	// How far from a period's boundary a throttled thread may begin to run again: others may have its CPU just then.
	jitterNs = 2_000_000
	// The same as a part of the period.
	jitterPart = 16
	// Periods looked for, in Hz: from 1 s, the kernel's longest, to 10 ms. Shorter ones are the ticks at which others preempt.
	lowestHz, highestHz = 1.0, 100.0
	// Of the best agreement with any period: what a longer period must reach to be taken instead.
	nearlyBest = 0.8
	// Accidents of so many in all trials are accepted.
	accident = 0.01
)

// Inferred is a quota, as gaps tell it.
type Inferred struct {
	PeriodNs    float64
	QuotaNs     float64
	ThrottledNs int64
	Gaps        int
	Periods     int
	FirstNs     float64 // The first boundary seen.
}

type gap struct{ start, end int64 }

func (g gap) length() int64 { return g.end - g.start }

// Infer finds period and quota in what each thread ran. A throttled thread begins to run again when its quota is refilled, at the
// boundary of a period; a preempted one at any time. False when the ends of gaps have no common period.
func Infer(threads [][]Stretch) (Inferred, bool) {
	all := gapsOf(threads)
	typical := typicalLength(all)
	// Being preempted is shorter than being throttled, on a busy machine much oftener too: then only the longest gaps tell.
	for _, part := range []float64{0.25, 1, 2, 4} {
		g, found := gridOf(longer(all, part*typical))
		if !found {
			continue
		}
		if inferred, enough := g.measure(threads, all); enough {
			return inferred, true
		}
	}
	return Inferred{}, false
}

// Gaps of all threads, by their ends.
func gapsOf(threads [][]Stretch) []gap {
	var gaps []gap
	for _, stretches := range threads {
		for i := 1; i < len(stretches); i++ {
			gaps = append(gaps, gap{stretches[i-1].EndNs, stretches[i].StartNs})
		}
	}
	sort.Slice(gaps, func(a, b int) bool { return gaps[a].end < gaps[b].end })
	return gaps
}

// Half of all time lost is in gaps at least as long.
func typicalLength(gaps []gap) float64 {
	byLength := append([]gap(nil), gaps...)
	sort.Slice(byLength, func(a, b int) bool { return byLength[a].length() > byLength[b].length() })
	var total, sum int64
	for _, g := range gaps {
		total += g.length()
	}
	for _, g := range byLength {
		sum += g.length()
		if 2*sum >= total {
			return float64(g.length())
		}
	}
	return 0
}

func longer(gaps []gap, least float64) []gap {
	var long []gap
	for _, g := range gaps {
		if float64(g.length()) >= least {
			long = append(long, g)
		}
	}
	return long
}

// The boundaries that these gaps end at, if they do.
func gridOf(gaps []gap) (grid, bool) {
	ends := make([]float64, len(gaps))
	weights := make([]float64, len(gaps))
	for i, g := range gaps {
		ends[i], weights[i] = float64(g.end), float64(g.length())
	}
	if len(ends) < 3 {
		return grid{}, false
	}
	guess, found := likelyPeriod(ends, weights)
	if !found {
		return grid{}, false
	}
	g := fit(ends, weights, guess)
	return g, g.significant(ends)
}

// The longest period that the ends agree with nearly as well as with any: they agree with its fractions too.
func likelyPeriod(ends, weights []float64) (float64, bool) {
	span := (ends[len(ends)-1] - ends[0]) / 1e9
	if span <= 0 {
		return 0, false
	}
	step := 0.1 / span
	lowest := max(lowestHz*0.99, 1.5/span)
	var scores []float64
	for hz := lowest; hz < highestHz; hz += step {
		scores = append(scores, agreement(ends, weights, hz))
	}
	best := 0.0
	for _, score := range scores {
		best = max(best, score)
	}
	for i, score := range scores {
		climbing := i+1 < len(scores) && scores[i+1] > score
		if score >= nearlyBest*best && !climbing {
			return 1e9 / (lowest + float64(i)*step), true
		}
	}
	return 0, false
}

// How well ends fall on one phase of a frequency, 0 to 1: the resultant of their phases (Mardia and Jupp, "Directional Statistics", 2000, 2.2).
func agreement(ends, weights []float64, hz float64) float64 {
	var x, y, total float64
	for i, end := range ends {
		sin, cos := math.Sincos(2 * math.Pi * hz * (end - ends[0]) / 1e9)
		x, y, total = x+weights[i]*cos, y+weights[i]*sin, total+weights[i]
	}
	return math.Hypot(x, y) / total
}

// grid is boundaries of periods: phase + k * period.
type grid struct{ phase, period float64 }

func (g grid) index(at float64) float64    { return math.Round((at - g.phase) / g.period) }
func (g grid) boundary(k float64) float64  { return g.phase + k*g.period }
func (g grid) distance(at float64) float64 { return math.Abs(at - g.boundary(g.index(at))) }
func (g grid) tolerance() float64          { return min(jitterNs, g.period/jitterPart) }

// fit draws a line through the ends that are near boundaries, by least squares, again and again with those that are nearer.
func fit(ends, weights []float64, period float64) grid {
	g := grid{phaseOf(ends, weights, period), period}
	for _, share := range []float64{4, 8, 16, 32, 64} {
		width := max(period/share, g.tolerance())
		var n, sk, se, skk, ske float64
		for _, end := range ends {
			if g.distance(end) > width {
				continue
			}
			k := g.index(end)
			n, sk, se, skk, ske = n+1, sk+k, se+end, skk+k*k, ske+k*end
		}
		spread := n*skk - sk*sk
		if spread <= 0 {
			break
		}
		g.period = (n*ske - sk*se) / spread
		g.phase = (se - g.period*sk) / n
	}
	return g
}

func phaseOf(ends, weights []float64, period float64) float64 {
	var x, y float64
	for i, end := range ends {
		sin, cos := math.Sincos(2 * math.Pi * (end - ends[0]) / period)
		x, y = x+weights[i]*cos, y+weights[i]*sin
	}
	return ends[0] + math.Atan2(y, x)/(2*math.Pi)*period
}

// significant says whether as many ends would hardly be near boundaries by accident: the binomial chance, for every end as the first
// and every frequency that could have been found.
func (g grid) significant(ends []float64) bool {
	moments := g.distinct(ends)
	near := 0
	for _, end := range moments {
		if g.distance(end) <= g.tolerance() {
			near++
		}
	}
	n := len(moments)
	if near < 3 || 5*near < 3*n {
		return false
	}
	chance := 2 * g.tolerance() / g.period
	trials := float64(n) * max(1, (ends[len(ends)-1]-ends[0])/g.period)
	return trials*binomialTail(n-2, near-2, chance) < accident
}

// Several threads are let go at one boundary, which is one moment.
func (g grid) distinct(ends []float64) []float64 {
	var moments []float64
	for _, end := range ends {
		if len(moments) == 0 || end-moments[len(moments)-1] > 2*g.tolerance() {
			moments = append(moments, end)
		}
	}
	return moments
}

// Chance of at least k of n.
func binomialTail(n, k int, chance float64) float64 {
	sum := 0.0
	for i := max(k, 0); i <= n; i++ {
		logN, _ := math.Lgamma(float64(n + 1))
		logI, _ := math.Lgamma(float64(i + 1))
		logRest, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(logN - logI - logRest + float64(i)*math.Log(chance) + float64(n-i)*math.Log1p(-chance))
	}
	return sum
}

// measure adds up what ran from boundary to boundary, where the quota was used up each time.
func (g grid) measure(threads [][]Stretch, gaps []gap) (Inferred, bool) {
	found := Inferred{PeriodNs: g.period}
	ends := map[float64]bool{}   // Boundaries at which a gap ended,
	within := map[float64]bool{} // and those that lie in one: their quota was owed.
	for _, gap := range gaps {
		last := g.index(float64(gap.end))
		if g.distance(float64(gap.end)) > g.tolerance() {
			continue
		}
		found.Gaps++
		found.ThrottledNs += gap.length()
		ends[last] = true
		for k := math.Ceil((float64(gap.start) - g.phase) / g.period); k < last; k++ {
			within[k] = true
		}
	}
	order := slices.Sorted(maps.Keys(ends))
	cpu := g.cpuAtBoundaries(threads)
	ran, periods := 0.0, 0.0
	for i := 1; i < len(order); i++ {
		from, to := order[i-1], order[i]
		used := true
		for k := from + 1; k < to; k++ {
			used = used && within[k]
		}
		if !used {
			continue
		}
		periods += to - from
		if cpu[from] > 0 && cpu[to] > 0 {
			ran += float64(cpu[to] - cpu[from])
		} else {
			ran += overlap(threads, g.boundary(from), g.boundary(to))
		}
	}
	found.FirstNs = g.boundary(order[0])
	found.Periods = int(order[len(order)-1] - order[0])
	found.QuotaNs = ran / periods
	return found, 2*periods >= float64(found.Periods)
}

// cpuAtBoundaries is the process's CPU time: what the quota was charged with, other threads' and the kernel's part in it that the
// spinners do not see.
func (g grid) cpuAtBoundaries(threads [][]Stretch) map[float64]int64 {
	at := map[float64]int64{}
	for _, stretches := range threads {
		for _, s := range stretches {
			if s.CPUNs == 0 || g.distance(float64(s.StartNs)) > g.tolerance() {
				continue
			}
			k := g.index(float64(s.StartNs))
			if earlier, seen := at[k]; !seen || s.CPUNs < earlier {
				at[k] = s.CPUNs
			}
		}
	}
	return at
}

// overlap is how long threads ran between two times.
func overlap(threads [][]Stretch, from, to float64) float64 {
	ran := 0.0
	for _, stretches := range threads {
		for _, s := range stretches {
			ran += max(0, min(to, float64(s.EndNs))-max(from, float64(s.StartNs)))
		}
	}
	return ran
}
