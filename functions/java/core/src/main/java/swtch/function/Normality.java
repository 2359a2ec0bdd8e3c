package swtch.function;

/** The Shapiro-Wilk test by Royston, "Remark AS R94", Applied Statistics 44 (1995), whose approximations hold up to 5000 values. */
public final class Normality {
    private Normality() {}

    /** The statistic, and the probability of one as small if the values were normal. */
    public record ShapiroWilk(double w, double p) {}

    /** Null below 3 values or when all are equal. */
    public static ShapiroWilk test(double[] values) {
        double[] sorted = Statistics.ascending(values);
        int n = sorted.length;
        if (n < 3 || n > 5000 || sorted[0] == sorted[n - 1]) {
            return null;
        }
        double rest = oneMinusW(sorted, upperWeights(n));
        return new ShapiroWilk(1 - rest, significance(rest, n));
    }

    /** The weights of the upper half, the largest value's first; the lower half has the same with the other sign. */
    private static double[] upperWeights(int n) {
        if (n == 3) {
            return new double[] {Math.sqrt(0.5)};
        }
        double[] weights = new double[n / 2];
        double squares = 0;
        for (int i = 0; i < weights.length; i++) {
            weights[i] = -NormalDistribution.quantile((i + 0.625) / (n + 0.25));
            squares += 2 * weights[i] * weights[i];
        }
        double u = 1 / Math.sqrt(n);
        double norm = Math.sqrt(squares);
        double[] first = new double[n > 5 ? 2 : 1];
        first[0] = weights[0] / norm + polynomial(u, 0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056);
        if (n > 5) {
            first[1] = weights[1] / norm + polynomial(u, 0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633);
        }
        double left = squares;
        double room = 1;
        for (int i = 0; i < first.length; i++) {
            left -= 2 * weights[i] * weights[i];
            room -= 2 * first[i] * first[i];
        }
        double scale = Math.sqrt(left / room);
        for (int i = 0; i < weights.length; i++) {
            weights[i] = i < first.length ? first[i] : weights[i] / scale;
        }
        return weights;
    }

    /** Without the subtraction that would lose digits: W is the squared correlation of values and weights. */
    private static double oneMinusW(double[] sorted, double[] upper) {
        int n = sorted.length;
        double spread = sorted[n - 1] - sorted[0];
        double centre = 0;
        for (double value : sorted) {
            centre += value / spread / n;
        }
        double xx = 0;
        double aa = 0;
        double ax = 0;
        for (int i = 0; i < n; i++) {
            double weight = 0;
            if (i < upper.length) {
                weight = -upper[i];
            } else if (n - 1 - i < upper.length) {
                weight = upper[n - 1 - i];
            }
            double deviation = sorted[i] / spread - centre;
            xx += deviation * deviation;
            aa += weight * weight;
            ax += weight * deviation;
        }
        double product = Math.sqrt(xx * aa);
        return Math.min(1, Math.max(0, (product - ax) * (product + ax) / (xx * aa)));
    }

    /** Exact for 3 values, else a log-normal approximation of 1 - W. */
    private static double significance(double rest, int n) {
        if (n == 3) {
            return Math.min(1, Math.max(0, 6 / Math.PI * (Math.asin(Math.sqrt(1 - rest)) - Math.PI / 3)));
        }
        double log = Math.log(rest);
        if (n <= 11) {
            double bound = polynomial(n, -2.273, 0.459);
            if (log >= bound) {
                return 0;
            }
            double mean = polynomial(n, 0.544, -0.39978, 0.025054, -6.714e-4);
            double deviation = Math.exp(polynomial(n, 1.3822, -0.77857, 0.062767, -0.0020322));
            return NormalDistribution.upperTail((-Math.log(bound - log) - mean) / deviation);
        }
        double size = Math.log(n);
        double mean = polynomial(size, -1.5861, -0.31082, -0.083751, 0.0038915);
        double deviation = Math.exp(polynomial(size, -0.4803, -0.082676, 0.0030302));
        return NormalDistribution.upperTail((log - mean) / deviation);
    }

    /** Coefficients from the constant term up. */
    private static double polynomial(double x, double... coefficients) {
        double sum = 0;
        for (int i = coefficients.length - 1; i >= 0; i--) {
            sum = sum * x + coefficients[i];
        }
        return sum;
    }
}
