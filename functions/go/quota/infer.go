// Package quota finds the CPU quota of a function from inside: threads spin, and the gaps in which they did not run tell it.
package quota

import (
	"errors"
	"fmt"
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
	// After a long gap it may be later, by this part of the gap, up to a tick of the kernel and a little.
	latePart, latestNs = 10, 5_000_000
	// Periods looked for, in Hz: from 1 s, the kernel's longest, to 10 ms. Shorter ones are the ticks at which others preempt.
	lowestHz, highestHz = 1.0, 100.0
	// Of the best agreement with any period: what a longer period must reach to be taken instead.
	nearlyBest = 0.7
	// Of what most periods ran: less is not the quota.
	leastRan = 0.75
	// This many accidents in all trials are accepted.
	accident = 0.01
	// The kernel takes no quota below 1 ms (kernel/sched/core.c: min_cfs_quota_period); the inferred quota may be a little less than the one that is set.
	smallestNs = 900_000
	// As well as quotas are inferred.
	near = 0.02
	// What a CPU may run beyond its quota once, however long one looks: a slice that it holds (sched_cfs_bandwidth_slice), or a tick that is owed.
	keptNs = 5_000_000
)

var errNoPeriod = errors.New("no gaps end together with any period: hardly anything was throttled")

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
// boundary of a period; a preempted one at any time. The error says why there is none, in one line.
func Infer(threads [][]Interval) (Inferred, error) {
	all := gapsOf(threads)
	typical := typicalLength(all)
	// Being preempted is shorter than being throttled, on a busy machine much oftener too: then only the longest gaps tell.
	for _, part := range []float64{0.25, 1, 2, 4} {
		g, found := gridOf(longer(all, part*typical))
		if !found {
			continue
		}
		if inferred, err := g.measure(threads, all); err != errNoPeriod {
			return inferred, err
		}
	}
	return Inferred{}, errNoPeriod
}

// Gaps of all threads, by their ends.
func gapsOf(threads [][]Interval) []gap {
	var gaps []gap
	for _, intervals := range threads {
		for i := 1; i < len(intervals); i++ {
			gaps = append(gaps, gap{intervals[i-1].EndNs, intervals[i].StartNs})
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
	return g, g.significant(gaps)
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

// Whether a gap ends with a period, or so little after it that others had the CPU just then.
func (g grid) ends(gap gap) bool {
	after := float64(gap.end) - g.boundary(g.index(float64(gap.end)))
	return after >= -g.tolerance() && after <= max(g.tolerance(), min(latestNs, float64(gap.length())/latePart))
}

func (g grid) tolerance() float64 { return min(jitterNs, g.period/jitterPart) }

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

// significant says whether as many ends would hardly be near boundaries by accident. It is the binomial chance, for every end as the
// first and every frequency that could have been found.
func (g grid) significant(gaps []gap) bool {
	n, ended, last := 0, 0, math.Inf(-1)
	for _, gap := range gaps {
		// Several threads are let go at one boundary, which is one moment.
		if end := float64(gap.end); end-last > 2*g.tolerance() {
			n, last = n+1, end
			if g.ends(gap) {
				ended++
			}
		}
	}
	if ended < 3 || 5*ended < 3*n {
		return false
	}
	chance := 2 * g.tolerance() / g.period
	trials := float64(n) * max(1, float64(gaps[len(gaps)-1].end-gaps[0].end)/g.period)
	return trials*binomialTail(n-2, ended-2, chance) < accident
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
func (g grid) measure(threads [][]Interval, gaps []gap) (Inferred, error) {
	found := Inferred{PeriodNs: g.period}
	ends := map[float64]bool{}   // Boundaries at which a gap ended,
	within := map[float64]bool{} // and those that lie in one: their quota was owed.
	for _, gap := range gaps {
		last := g.index(float64(gap.end))
		if !g.ends(gap) {
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
	span := order[len(order)-1] - order[0]
	if len(order) > 4 {
		// Time that was overrun before the spinning is owed in the first period.
		order = order[1:]
	}
	cpu := make([]map[float64]int64, len(threads))
	for i, intervals := range threads {
		cpu[i] = g.cpuAtBoundaries(intervals)
	}
	ranBetween := func(from, to float64) float64 {
		ran := 0.0
		for i, intervals := range threads {
			if cpu[i][from] > 0 && cpu[i][to] > 0 {
				ran += float64(cpu[i][to] - cpu[i][from])
			} else {
				ran += overlap(intervals, g.boundary(from), g.boundary(to))
			}
		}
		return ran
	}
	var segments []segment
	for i := 1; i < len(order); i++ {
		from, to := order[i-1], order[i]
		used := true
		for k := from + 1; k < to; k++ {
			used = used && within[k]
		}
		if used {
			segments = append(segments, segment{ranBetween(from, to), to - from})
		}
	}
	ran, periods := usedUp(segments)
	found.FirstNs = g.boundary(order[0])
	found.Periods = int(span)
	found.QuotaNs = ran / periods
	if periods == 0 || 2*periods < float64(found.Periods) {
		return Inferred{}, errNoPeriod
	}
	first, last := order[0], order[len(order)-1]
	if err := whyNot(found.QuotaNs, g.period, ranBetween(first, last), last-first, len(threads)); err != nil {
		return Inferred{}, err
	}
	return found, nil
}

// whyNot is why what gaps tell can be no quota of the kernel's, or nil. The same in every language.
//
// ran is what all threads ran over these periods, those that did not use the quota up too. A quota holds for each of them: what a CPU runs
// beyond it once, it owes.
func whyNot(quotaNs, periodNs, ran, periods float64, threads int) error {
	said := fmt.Sprintf("gaps end together every %.3f ms, but a quota of %.3f ms", periodNs/1e6, quotaNs/1e6)
	if quotaNs < smallestNs {
		return fmt.Errorf("%s is below the kernel's smallest, 1 ms: other programs had the CPU", said)
	}
	if ran > (1+near)*quotaNs*periods+keptNs*float64(threads) {
		return fmt.Errorf("%s would not have let %.3f ms run in each: other programs had the CPU", said, ran/periods/1e6)
	}
	return nil
}

// segment is what ran from one boundary to another.
type segment struct{ ran, periods float64 }

// usedUp adds up, without those that ran much less than most: others took their time, and a gap of theirs ended with the period.
func usedUp(segments []segment) (ran, periods float64) {
	var rates []float64
	for _, s := range segments {
		rates = append(rates, s.ran/s.periods)
	}
	slices.Sort(rates)
	for _, s := range segments {
		if s.ran/s.periods >= leastRan*rates[len(rates)/2] {
			ran, periods = ran+s.ran, periods+s.periods
		}
	}
	return ran, periods
}

// cpuAtBoundaries is a spinner's CPU time: what the quota was charged with, the kernel's part in it that it does not see.
func (g grid) cpuAtBoundaries(intervals []Interval) map[float64]int64 {
	at := map[float64]int64{}
	for i := 1; i < len(intervals); i++ {
		s := intervals[i]
		if s.CPUNs == 0 || !g.ends(gap{intervals[i-1].EndNs, s.StartNs}) {
			continue
		}
		k := g.index(float64(s.StartNs))
		if earlier, seen := at[k]; !seen || s.CPUNs < earlier {
			at[k] = s.CPUNs
		}
	}
	return at
}

// overlap is how long a spinner ran between two times.
func overlap(intervals []Interval, from, to float64) float64 {
	ran := 0.0
	for _, s := range intervals {
		ran += max(0, min(to, float64(s.EndNs))-max(from, float64(s.StartNs)))
	}
	return ran
}
