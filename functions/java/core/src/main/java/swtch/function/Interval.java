package swtch.function;

import java.util.List;

/** A time without a gap, from the beginning of spinning, and the CPU time that was charged for it. */
record Interval(long startNs, long endNs, long cpuNs) {
    List<Long> document() {
        return List.of(startNs, endNs, cpuNs);
    }
}
