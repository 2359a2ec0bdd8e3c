package swtch.function;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** Sums up batches without assuming that they are normal. */
public final class Statistics {
    private static final double CONFIDENCE = 0.95;

    private Statistics() {}

    /** The estimate of at least one value. Below 6 the interval is the range, with the confidence that it has. */
    public record Estimate(
            double median, double low, double high, double confidence, double mean, double minimum, Double cov, int n) {
        /** Whether the wider side of the interval is within this fraction of the median. */
        public boolean narrow(double fraction) {
            double wider = Math.max(high - median, median - low);
            return n >= 6 && median != 0 && wider <= fraction * Math.abs(median);
        }

        public Map<String, Object> document() {
            var fields = new LinkedHashMap<String, Object>();
            fields.put("median", median);
            fields.put("low", low);
            fields.put("high", high);
            fields.put("confidence", confidence);
            fields.put("mean", mean);
            fields.put("minimum", minimum);
            fields.put("cov", cov);
            fields.put("n", n);
            return fields;
        }
    }

    public static Estimate estimate(double[] values) {
        double[] sorted = ascending(values);
        int n = sorted.length;
        int rank = medianRank(n);
        return new Estimate(
                median(sorted),
                sorted[rank > 0 ? rank - 1 : 0],
                sorted[rank > 0 ? n - rank : n - 1],
                rank > 0 ? CONFIDENCE : 1 - Math.pow(2, 1 - n),
                mean(values),
                sorted[0],
                cov(values),
                n);
    }

    static double[] ascending(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted;
    }

    private static double mean(double[] values) {
        double sum = 0;
        for (double value : values) {
            sum += value;
        }
        return sum / values.length;
    }

    private static double median(double[] sorted) {
        int middle = sorted.length / 2;
        if (sorted.length % 2 == 1) {
            return sorted[middle];
        }
        return sorted[middle - 1] + 0.5 * (sorted[middle] - sorted[middle - 1]);
    }

    private static Double cov(double[] values) {
        double mean = mean(values);
        int n = values.length;
        if (n < 2 || mean == 0) {
            return null;
        }
        double squares = 0;
        double drift = 0;
        for (double value : values) {
            squares += (value - mean) * (value - mean);
            drift += value - mean;
        }
        return Math.sqrt(Math.max(0, squares - drift * drift / n) / (n - 1)) / Math.abs(mean);
    }

    /**
     * The largest rank r, counted from 1, such that the values at r and n + 1 - r hold the median with the confidence. Source: Conover,
     * "Practical Nonparametric Statistics" (1999), 3.2. 0 when there is none, below 6 values.
     */
    private static int medianRank(int n) {
        double inside = 1;
        int rank = 0;
        // The chance of k values below the median, by the exact binomial; its logarithm, so that nothing underflows.
        double logChance = -n * Math.log(2);
        for (int k = 0; 2 * k < n; k++) {
            inside -= 2 * Math.exp(logChance);
            if (inside < CONFIDENCE - 1e-12) {
                break;
            }
            rank = k + 1;
            logChance += Math.log((double) (n - k) / (k + 1));
        }
        return rank;
    }

    /** The correlation of each value with the next: Box and Jenkins (1970), 2.1.5. Null below 3 values or when all are equal. */
    public static Double lag1(double[] values) {
        if (values.length < 3 || Arrays.stream(values).allMatch(value -> value == values[0])) {
            return null;
        }
        double mean = mean(values);
        double total = 0;
        double shared = 0;
        for (int i = 0; i < values.length; i++) {
            total += (values[i] - mean) * (values[i] - mean);
            if (i > 0) {
                shared += (values[i - 1] - mean) * (values[i] - mean);
            }
        }
        return total > 0 ? shared / total : null;
    }
}
