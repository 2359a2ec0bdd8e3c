package swtch.function;

import java.util.LinkedHashMap;
import java.util.Map;

/** A fixed amount of work: a number of iterations, or as many as take so much CPU time where nothing interferes. */
final class Work {
    /** A calibration goes on until it has had so much CPU time, several times: what disturbs makes slower only. */
    private static final long CALIBRATION_NS = 5_000_000;
    private static final int TIMES = 4;
    /** The loop runs several times as fast once the last compiler has it, which a busy machine may delay. */
    private static final int MOST_TIMES = 60;
    private static final double FASTER = 1.05;
    private static final long CHUNK = 20_000;

    private static double perMs;
    private static long state = 1;

    private Work() {}

    /**
     * Two processes calibrate differently: only the same number of iterations can be compared. 0 is the number that takes this many ms.
     * {@code done} is run before the CPU clock is read. At that the kernel charges the work, and under a quota may stop it.
     */
    static Map<String, Object> work(double ms, long asked, Runnable done) {
        if (asked == 0 && perMs == 0) {
            perMs = calibrate();
        }
        long iterations = asked == 0 ? Math.round(ms * perMs) : asked;
        long wall = System.nanoTime();
        long cpu = Clock.threadCpuNs();
        iterate(iterations);
        wall = System.nanoTime() - wall;
        done.run();
        var fields = new LinkedHashMap<String, Object>();
        fields.put("asked_ms", ms);
        fields.put("cpu_ns", Clock.threadCpuNs() - cpu);
        fields.put("wall_ns", wall);
        fields.put("iterations", iterations);
        return fields;
    }

    private static double calibrate() {
        double fastest = 0;
        int alike = 0;
        for (int i = 0; i < MOST_TIMES && alike < TIMES; i++) {
            long begin = Clock.threadCpuNs();
            long done = 0;
            long spent = 0;
            while (spent < CALIBRATION_NS) {
                iterate(CHUNK);
                done += CHUNK;
                spent = Clock.threadCpuNs() - begin;
            }
            double perMs = 1e6 * done / spent;
            alike = perMs > FASTER * fastest ? 0 : alike + 1;
            fastest = Math.max(fastest, perMs);
        }
        return fastest;
    }

    /** Knuth's MMIX generator: each step needs the one before, so that no compiler shortens it. */
    private static void iterate(long times) {
        long x = state;
        for (long i = 0; i < times; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        state = x;
    }
}
