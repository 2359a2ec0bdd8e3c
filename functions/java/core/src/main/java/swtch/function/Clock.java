package swtch.function;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.LinkedHashMap;
import java.util.Map;

/** System.nanoTime, which is CLOCK_MONOTONIC, and the CPU time of the calling thread. */
final class Clock {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Clock() {}

    /** Asking makes the kernel charge the running time to the quota at once, and not at its next tick. */
    static long threadCpuNs() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** How fine its steps are, and what reading it takes. */
    static Map<String, Object> describe() {
        int times = 5000;
        long finest = Long.MAX_VALUE;
        long begin = System.nanoTime();
        long last = begin;
        for (int i = 0; i < times; i++) {
            long now = System.nanoTime();
            if (now > last) {
                finest = Math.min(finest, now - last);
            }
            last = now;
        }
        var fields = new LinkedHashMap<String, Object>();
        fields.put("resolution_ns", finest == Long.MAX_VALUE ? 0 : finest);
        fields.put("cost_ns", (double) (last - begin) / times);
        fields.put("source", "CLOCK_MONOTONIC");
        return fields;
    }
}
