package swtch.function;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
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
    /** Periods looked for: from 1 s, the kernel's longest, to 10 ms. Shorter ones are the ticks at which others preempt. */
    private static final double LOWEST_HZ = 1;
    private static final double HIGHEST_HZ = 100;
    /** Of the best agreement with any period: what a longer period must reach to be taken instead. */
    private static final double NEARLY_BEST = 0.8;
    /** Accidents of so many in all trials are accepted. */
    private static final double ACCIDENT = 0.01;

    private Quota() {}

    /** Without a gap, since the beginning; and the thread's CPU time at its start, or -1. */
    public record Stretch(long startNs, long endNs, long cpuNs) {}

    /** The first boundary is since the beginning too. */
    public record Inferred(double periodNs, double quotaNs, long throttledNs, int gaps, int periods, double firstNs) {}

    private record Gap(long startNs, long endNs) {
        long length() {
            return endNs - startNs;
        }
    }

    /** Null when the ends of gaps have no common period. */
    public static Inferred infer(List<List<Stretch>> threads) {
        List<Gap> gaps = gapsOf(threads);
        double typical = typicalLength(gaps);
        // Being preempted is shorter than being throttled, on a busy machine much oftener too: then only the longest gaps tell.
        for (double part : new double[] {0.25, 1, 2, 4}) {
            Grid grid = gridOf(gaps.stream().filter(gap -> gap.length() >= part * typical).toList());
            Inferred found = grid == null ? null : measure(grid, threads, gaps);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    /** Of all threads, by their ends. */
    private static List<Gap> gapsOf(List<List<Stretch>> threads) {
        var gaps = new ArrayList<Gap>();
        for (var stretches : threads) {
            for (int i = 1; i < stretches.size(); i++) {
                gaps.add(new Gap(stretches.get(i - 1).endNs, stretches.get(i).startNs));
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

        boolean isNear(double at) {
            return distance(at) <= tolerance();
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
     * Whether as many ends would hardly be near boundaries by accident: the binomial chance, for every end as the first and every frequency
     * that could have been found.
     */
    private static boolean significant(Grid grid, List<Gap> gaps) {
        int n = 0;
        int near = 0;
        double last = Double.NEGATIVE_INFINITY;
        for (Gap gap : gaps) {
            // Several threads are let go at one boundary, which is one moment.
            if (gap.endNs - last > 2 * grid.tolerance()) {
                n++;
                near += grid.isNear(gap.endNs) ? 1 : 0;
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

    /** Adds up what ran from boundary to boundary, where the quota was used up each time. Null when that was seldom so. */
    private static Inferred measure(Grid grid, List<List<Stretch>> threads, List<Gap> gaps) {
        var ends = new TreeSet<Long>(); // Boundaries at which a gap ended,
        var within = new HashSet<Long>(); // and those that lie in one: their quota was owed.
        List<Gap> throttles = gaps.stream().filter(gap -> grid.isNear(gap.endNs)).toList();
        for (Gap gap : throttles) {
            long last = grid.index(gap.endNs);
            ends.add(last);
            for (long k = (long) Math.ceil((gap.startNs - grid.phase) / grid.period); k < last; k++) {
                within.add(k);
            }
        }
        List<Map<Long, Long>> cpu = threads.stream().map(thread -> cpuAtBoundaries(grid, thread)).toList();
        double ran = 0;
        long periods = 0;
        Long from = null;
        for (long to : ends) {
            if (from != null && LongStream.range(from + 1, to).allMatch(within::contains)) {
                periods += to - from;
                for (int i = 0; i < threads.size(); i++) {
                    Long before = cpu.get(i).get(from);
                    Long after = cpu.get(i).get(to);
                    ran += before != null && after != null
                            ? after - before
                            : overlap(threads.get(i), grid.boundary(from), grid.boundary(to));
                }
            }
            from = to;
        }
        long all = ends.last() - ends.first();
        if (2 * periods < all) {
            return null;
        }
        long throttled = throttles.stream().mapToLong(Gap::length).sum();
        return new Inferred(
                grid.period, ran / periods, throttled, throttles.size(), (int) all, grid.boundary(ends.first()));
    }

    /** The thread's CPU time: what the quota was charged with, the kernel's part in it that the thread does not see. */
    private static Map<Long, Long> cpuAtBoundaries(Grid grid, List<Stretch> stretches) {
        var at = new HashMap<Long, Long>();
        for (Stretch stretch : stretches) {
            if (stretch.cpuNs >= 0 && grid.isNear(stretch.startNs)) {
                at.merge(grid.index(stretch.startNs), stretch.cpuNs, Math::min);
            }
        }
        return at;
    }

    /** How long a thread ran between two times. */
    private static double overlap(List<Stretch> stretches, double from, double to) {
        return stretches.stream()
                .mapToDouble(stretch -> Math.max(0, Math.min(to, stretch.endNs) - Math.max(from, stretch.startNs)))
                .sum();
    }

    /** When no thread ran for longer than a gap, from the beginning of the spinning: [start, length]. */
    static List<List<Long>> idle(List<List<Stretch>> threads, long gapNs) {
        var found = new ArrayList<List<Long>>();
        long[] reached = {0};
        threads.stream().flatMap(List::stream).sorted(Comparator.comparingLong(Stretch::startNs)).forEach(stretch -> {
            if (stretch.startNs - reached[0] > gapNs) {
                found.add(List.of(reached[0], stretch.startNs - reached[0]));
            }
            reached[0] = Math.max(reached[0], stretch.endNs);
        });
        return found;
    }

    /** How many CPUs the threads had in each whole window of time. */
    static double[] shares(List<List<Stretch>> threads, double firstNs, double windowNs, double endNs) {
        int windows = (int) Math.max(0, Math.floor((endNs - firstNs) / windowNs));
        double[] found = new double[windows];
        for (int i = 0; i < windows; i++) {
            double from = firstNs + i * windowNs;
            for (var stretches : threads) {
                found[i] += overlap(stretches, from, from + windowNs) / windowNs;
            }
        }
        return found;
    }
}
