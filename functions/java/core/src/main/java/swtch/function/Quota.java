package swtch.function;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.LongStream;

/**
 * Finds period and quota in what spinning threads ran. A throttled thread begins to run again when its quota is refilled, at the boundary of a
 * period; a preempted one at any time.
 */
public final class Quota {
    /** How far from a period's boundary a throttled thread may begin to run again: others may have its CPU just then. */
    private static final double JITTER_NS = 2e6;
    /** The same as a part of the period. */
    private static final double JITTER_PART = 16;
    /** After a long gap it may be later, by this part of the gap, up to a tick of the kernel and a little. */
    private static final double LATE_PART = 10;
    private static final double LATEST_NS = 5e6;
    /** Periods looked for: from 1 s, the kernel's longest, to 10 ms. Shorter ones are the ticks at which others preempt. */
    private static final double LOWEST_HZ = 1;
    private static final double HIGHEST_HZ = 100;
    /** Of the best agreement with any period: what a longer period must reach to be taken instead. */
    private static final double NEARLY_BEST = 0.7;
    /** Of what most periods ran: less is not the quota. */
    private static final double LEAST_RAN = 0.75;
    /** This many accidents in all trials are accepted. */
    private static final double ACCIDENT = 0.01;
    /** The kernel takes no quota below 1 ms (kernel/sched/core.c: min_cfs_quota_period); the inferred quota may be a little less than the one that is set. */
    private static final double SMALLEST_NS = 0.9e6;
    /** As well as quotas are inferred. */
    private static final double NEAR = 0.02;
    /** What a CPU may run beyond its quota once, however long one looks: a slice that it holds (sched_cfs_bandwidth_slice), or a tick that is owed. */
    private static final double KEPT_NS = 5e6;
    private static final Outcome NO_PERIOD = Outcome.none("no gaps end together with any period: hardly anything was throttled");

    private Quota() {}

    /** Without a gap, since the beginning; and the thread's CPU time at its start, or -1. */
    public record Interval(long startNs, long endNs, long cpuNs) {}

    /** The first boundary is since the beginning too. */
    public record Inferred(double periodNs, double quotaNs, long throttledNs, int gaps, int periods, double firstNs) {}

    /** A quota, or null and why there is none, in one line. */
    public record Outcome(Inferred found, String why) {
        private static Outcome none(String why) {
            return new Outcome(null, why);
        }
    }

    private record Gap(long startNs, long endNs) {
        long length() {
            return endNs - startNs;
        }
    }

    /** What the gaps tell. */
    public static Outcome infer(List<List<Interval>> threads) {
        List<Gap> gaps = gapsOf(threads);
        double typical = typicalLength(gaps);
        // Being preempted is shorter than being throttled, on a busy machine much oftener too: then only the longest gaps tell.
        for (double part : new double[] {0.25, 1, 2, 4}) {
            Grid grid = gridOf(gaps.stream().filter(gap -> gap.length() >= part * typical).toList());
            Outcome outcome = grid == null ? NO_PERIOD : measure(grid, threads, gaps);
            if (outcome != NO_PERIOD) {
                return outcome;
            }
        }
        return NO_PERIOD;
    }

    /** Of all threads, by their ends. */
    private static List<Gap> gapsOf(List<List<Interval>> threads) {
        var gaps = new ArrayList<Gap>();
        for (var intervals : threads) {
            for (int i = 1; i < intervals.size(); i++) {
                gaps.add(new Gap(intervals.get(i - 1).endNs, intervals.get(i).startNs));
            }
        }
        gaps.sort(Comparator.comparingLong(Gap::endNs));
        return gaps;
    }

    /** Half of all time lost is in gaps at least as long. */
    private static double typicalLength(List<Gap> gaps) {
        long[] lengths = gaps.stream().mapToLong(Gap::length).sorted().toArray();
        long total = LongStream.of(lengths).sum();
        long sum = 0;
        for (int i = lengths.length - 1; i >= 0; i--) {
            sum += lengths[i];
            if (2 * sum >= total) {
                return lengths[i];
            }
        }
        return 0;
    }

    /** The boundaries that these gaps end at, if they do. */
    private static Grid gridOf(List<Gap> gaps) {
        if (gaps.size() < 3) {
            return null;
        }
        double guess = likelyPeriod(gaps);
        if (guess == 0) {
            return null;
        }
        Grid grid = fit(gaps, guess);
        return significant(grid, gaps) ? grid : null;
    }

    /** The longest period that the ends agree with nearly as well as with any: they agree with its fractions too. 0 for none. */
    private static double likelyPeriod(List<Gap> gaps) {
        double span = spanNs(gaps) / 1e9;
        if (span <= 0) {
            return 0;
        }
        double step = 0.1 / span;
        double lowest = Math.max(LOWEST_HZ * 0.99, 1.5 / span);
        var scores = new ArrayList<Double>();
        double best = 0;
        for (double hz = lowest; hz < HIGHEST_HZ; hz += step) {
            scores.add(resultant(gaps, 1e9 / hz).length);
            best = Math.max(best, scores.get(scores.size() - 1));
        }
        for (int i = 0; i < scores.size(); i++) {
            boolean climbing = i + 1 < scores.size() && scores.get(i + 1) > scores.get(i);
            if (scores.get(i) >= NEARLY_BEST * best && !climbing) {
                return 1e9 / (lowest + i * step);
            }
        }
        return 0;
    }

    private static double spanNs(List<Gap> gaps) {
        return gaps.get(gaps.size() - 1).endNs - gaps.get(0).endNs;
    }

    private record Resultant(double length, double phase) {}

    /** How well ends fall on one phase of a period, 0 to 1, and which (Mardia and Jupp, "Directional Statistics", 2000, 2.2). */
    private static Resultant resultant(List<Gap> gaps, double period) {
        double x = 0;
        double y = 0;
        double total = 0;
        long first = gaps.get(0).endNs;
        for (Gap gap : gaps) {
            double angle = 2 * Math.PI * (gap.endNs - first) / period;
            x += gap.length() * Math.cos(angle);
            y += gap.length() * Math.sin(angle);
            total += gap.length();
        }
        return new Resultant(Math.hypot(x, y) / total, first + Math.atan2(y, x) / (2 * Math.PI) * period);
    }

    /** Boundaries of periods: phase + k * period. */
    private record Grid(double phase, double period) {
        long index(double at) {
            return Math.round((at - phase) / period);
        }

        double boundary(long k) {
            return phase + k * period;
        }

        double distance(double at) {
            return Math.abs(at - boundary(index(at)));
        }

        double tolerance() {
            return Math.min(JITTER_NS, period / JITTER_PART);
        }

        /** Whether a gap ends with a period, or so little after it that others had the CPU just then. */
        boolean ends(Gap gap) {
            double after = gap.endNs - boundary(index(gap.endNs));
            return after >= -tolerance() && after <= Math.max(tolerance(), Math.min(LATEST_NS, gap.length() / LATE_PART));
        }
    }

    /** A line through the ends that are near boundaries, by least squares, again and again with those that are nearer. */
    private static Grid fit(List<Gap> gaps, double period) {
        Grid grid = new Grid(resultant(gaps, period).phase, period);
        for (double share : new double[] {4, 8, 16, 32, 64}) {
            double width = Math.max(period / share, grid.tolerance());
            double n = 0;
            double sumK = 0;
            double sumEnd = 0;
            double sumKK = 0;
            double sumKEnd = 0;
            for (Gap gap : gaps) {
                if (grid.distance(gap.endNs) > width) {
                    continue;
                }
                double k = grid.index(gap.endNs);
                n++;
                sumK += k;
                sumEnd += gap.endNs;
                sumKK += k * k;
                sumKEnd += k * gap.endNs;
            }
            double across = n * sumKK - sumK * sumK;
            if (!(across > 0)) {
                break;
            }
            double slope = (n * sumKEnd - sumK * sumEnd) / across;
            grid = new Grid((sumEnd - slope * sumK) / n, slope);
        }
        return grid;
    }

    /**
     * Whether as many ends would hardly be near boundaries by accident. It is the binomial chance, for every end as the first and every
     * frequency that could have been found.
     */
    private static boolean significant(Grid grid, List<Gap> gaps) {
        int n = 0;
        int near = 0;
        double last = Double.NEGATIVE_INFINITY;
        for (Gap gap : gaps) {
            // Several threads are let go at one boundary, which is one moment.
            if (gap.endNs - last > 2 * grid.tolerance()) {
                n++;
                near += grid.ends(gap) ? 1 : 0;
                last = gap.endNs;
            }
        }
        if (near < 3 || 5 * near < 3 * n) {
            return false;
        }
        double trials = n * Math.max(1, spanNs(gaps) / grid.period);
        return trials * binomialTail(n - 2, near - 2, 2 * grid.tolerance() / grid.period) < ACCIDENT;
    }

    /** Chance of at least k of n. */
    private static double binomialTail(int n, int k, double chance) {
        double sum = 0;
        double log = n * Math.log1p(-chance);
        for (int i = 0; i <= n; i++) {
            sum += i >= k ? Math.exp(log) : 0;
            log += Math.log((double) (n - i) / (i + 1)) + Math.log(chance / (1 - chance));
        }
        return sum;
    }

    /** Adds up what ran from boundary to boundary, where the quota was used up each time. */
    private static Outcome measure(Grid grid, List<List<Interval>> threads, List<Gap> gaps) {
        var ends = new TreeSet<Long>(); // Boundaries at which a gap ended,
        var within = new HashSet<Long>(); // and those that lie in one: their quota was owed.
        List<Gap> throttles = gaps.stream().filter(grid::ends).toList();
        for (Gap gap : throttles) {
            long last = grid.index(gap.endNs);
            ends.add(last);
            for (long k = (long) Math.ceil((gap.startNs - grid.phase) / grid.period); k < last; k++) {
                within.add(k);
            }
        }
        List<Map<Long, Long>> cpu = threads.stream().map(thread -> cpuAtBoundaries(grid, thread)).toList();
        long all = ends.last() - ends.first();
        double firstNs = grid.boundary(ends.first());
        if (ends.size() > 4) {
            // Time that was overrun before the spinning is owed in the first period.
            ends.pollFirst();
        }
        var segments = new ArrayList<Segment>();
        Long from = null;
        for (long to : ends) {
            if (from != null && LongStream.range(from + 1, to).allMatch(within::contains)) {
                segments.add(new Segment(ranBetween(grid, threads, cpu, from, to), to - from));
            }
            from = to;
        }
        double[] rates = segments.stream().mapToDouble(Segment::rate).sorted().toArray();
        // Others took the time of a period that ran much less than most, and a gap of theirs ended with it.
        List<Segment> usedUp = segments.stream()
                .filter(segment -> segment.rate() >= LEAST_RAN * rates[rates.length / 2])
                .toList();
        double ran = usedUp.stream().mapToDouble(Segment::ran).sum();
        long periods = usedUp.stream().mapToLong(Segment::periods).sum();
        if (periods == 0 || 2 * periods < all) {
            return NO_PERIOD;
        }
        double ranInAll = ranBetween(grid, threads, cpu, ends.first(), ends.last());
        String why = whyNot(ran / periods, grid.period, ranInAll, ends.last() - ends.first(), threads.size());
        if (why != null) {
            return Outcome.none(why);
        }
        long throttled = throttles.stream().mapToLong(Gap::length).sum();
        return new Outcome(new Inferred(grid.period, ran / periods, throttled, throttles.size(), (int) all, firstNs), null);
    }

    /**
     * Why what gaps tell can be no quota of the kernel's, or null. The same in every language. The running time is of all threads over
     * these periods, also those that did not use the quota up. A quota holds for each of them, and a CPU owes what it runs beyond it once.
     */
    private static String whyNot(double quotaNs, double periodNs, double ranNs, long periods, int threads) {
        String said = String.format(
                Locale.ROOT, "gaps end together every %.3f ms, but a quota of %.3f ms", periodNs / 1e6, quotaNs / 1e6);
        if (quotaNs < SMALLEST_NS) {
            return said + " is below the kernel's smallest, 1 ms: other programs had the CPU";
        }
        if (ranNs > (1 + NEAR) * quotaNs * periods + KEPT_NS * threads) {
            return String.format(
                    Locale.ROOT, "%s would not have let %.3f ms run in each: other programs had the CPU", said, ranNs / periods / 1e6);
        }
        return null;
    }

    /** What all threads ran between two boundaries: their CPU time, where they looked at it at both. */
    private static double ranBetween(Grid grid, List<List<Interval>> threads, List<Map<Long, Long>> cpu, long from, long to) {
        double ran = 0;
        for (int i = 0; i < threads.size(); i++) {
            Long before = cpu.get(i).get(from);
            Long after = cpu.get(i).get(to);
            ran += before != null && after != null
                    ? after - before
                    : overlap(threads.get(i), grid.boundary(from), grid.boundary(to));
        }
        return ran;
    }

    /** What ran from one boundary to another. */
    private record Segment(double ran, long periods) {
        double rate() {
            return ran / periods;
        }
    }

    /** The thread's CPU time: what the quota was charged with, the kernel's part in it that the thread does not see. */
    private static Map<Long, Long> cpuAtBoundaries(Grid grid, List<Interval> intervals) {
        var at = new HashMap<Long, Long>();
        for (int i = 1; i < intervals.size(); i++) {
            Interval interval = intervals.get(i);
            if (interval.cpuNs >= 0 && grid.ends(new Gap(intervals.get(i - 1).endNs, interval.startNs))) {
                at.merge(grid.index(interval.startNs), interval.cpuNs, Math::min);
            }
        }
        return at;
    }

    /** How long a thread ran between two times. */
    private static double overlap(List<Interval> intervals, double from, double to) {
        return intervals.stream()
                .mapToDouble(interval -> Math.max(0, Math.min(to, interval.endNs) - Math.max(from, interval.startNs)))
                .sum();
    }

    /** When no thread ran for longer than a gap, from the beginning of the spinning: [start, length]. */
    static List<List<Long>> idle(List<List<Interval>> threads, long gapNs) {
        var found = new ArrayList<List<Long>>();
        long[] reached = {0};
        threads.stream().flatMap(List::stream).sorted(Comparator.comparingLong(Interval::startNs)).forEach(interval -> {
            if (interval.startNs - reached[0] > gapNs) {
                found.add(List.of(reached[0], interval.startNs - reached[0]));
            }
            reached[0] = Math.max(reached[0], interval.endNs);
        });
        return found;
    }

    /** How many CPUs the threads had in each whole window of time. */
    static double[] shares(List<List<Interval>> threads, double firstNs, double windowNs, double endNs) {
        int windows = (int) Math.max(0, Math.floor((endNs - firstNs) / windowNs));
        double[] found = new double[windows];
        for (int i = 0; i < windows; i++) {
            double from = firstNs + i * windowNs;
            for (var intervals : threads) {
                found[i] += overlap(intervals, from, from + windowNs) / windowNs;
            }
        }
        return found;
    }
}
