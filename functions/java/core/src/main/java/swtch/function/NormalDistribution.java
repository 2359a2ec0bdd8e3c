package swtch.function;

/** The standard normal distribution, by Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964). */
final class NormalDistribution {
    private NormalDistribution() {}

    /** Probability of a value above z: the series 26.2.11 near the centre, the continued fraction 26.2.14 in the tail. */
    static double upperTail(double z) {
        double distance = Math.abs(z);
        double beyond = distance < 3 ? 0.5 - centreMass(distance) : farTail(distance);
        return z < 0 ? 1 - beyond : beyond;
    }

    /** The value that is exceeded with the probability 1 - p: 26.2.23, then Halley's method. */
    static double quantile(double p) {
        double tail = Math.min(p, 1 - p);
        double t = Math.sqrt(-2 * Math.log(tail));
        double over = 2.515517 + t * (0.802853 + t * 0.010328);
        double under = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
        double z = t - over / under;
        for (int i = 0; i < 2; i++) {
            double step = (upperTail(z) - tail) / density(z);
            z += step / (1 - 0.5 * z * step);
        }
        return p < 0.5 ? -z : z;
    }

    private static double density(double z) {
        return Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
    }

    private static double centreMass(double z) {
        double term = z;
        double sum = z;
        for (double divisor = 3; term > sum * 1e-17; divisor += 2) {
            term *= z * z / divisor;
            sum += term;
        }
        return density(z) * sum;
    }

    private static double farTail(double z) {
        double fraction = 0;
        for (int level = 60; level >= 1; level--) {
            fraction = level / (z + fraction);
        }
        return density(z) / (z + fraction);
    }
}
