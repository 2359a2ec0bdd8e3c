package swtch.function;

import java.util.Arrays;

/** The median and how well it is known: enough to know when to stop. The statistics of an answer are made where it is read (crates/faas). */
public final class Median {
    /** With fewer values no pair of order statistics holds the median with 95 %. */
    private static final int LEAST = 6;

    private Median() {}

    public static double of(long[] values) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        int n = sorted.length;
        return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    }

    /** Whether the wider side of its 95 % interval is within this part of it; ranks by the normal approximation (Conover 1999, 3.2). */
    public static boolean narrow(long[] values, double part) {
        int n = values.length;
        if (n < LEAST) {
            return false;
        }
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        double middle = of(sorted);
        int rank = Math.max(1, (int) ((n - 1.96 * Math.sqrt(n)) / 2));
        return middle != 0 && Math.max(sorted[n - rank] - middle, middle - sorted[rank - 1]) <= part * Math.abs(middle);
    }
}
