package swtch.function;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** What an invocation used. */
final class Usage {
    /** proc(5)'s ticks. */
    private static final long TICK_NS = 10_000_000;

    private final long wallNs = System.nanoTime();
    private final long cpuNs = cpuNs();

    Map<String, Object> sinceThen(Unavailable unavailable) {
        Long peak = Files.whole(Files.find("^VmHWM:\\s*(\\d+)", Files.text(Path.of("/proc/self/status"))), 1024);
        if (peak == null) {
            unavailable.add("usage.max_rss_bytes", "/proc/self/status does not say");
        }
        String why = "Java has no getrusage, and /proc forgets threads that have ended";
        unavailable.add("usage.voluntary", why);
        unavailable.add("usage.involuntary", why);
        var fields = new LinkedHashMap<String, Object>();
        fields.put("wall_ns", System.nanoTime() - wallNs);
        fields.put("cpu_ns", Math.max(0, cpuNs() - cpuNs));
        fields.put("voluntary", null);
        fields.put("involuntary", null);
        fields.put("max_rss_bytes", peak);
        return fields;
    }

    /** Of this process and of its children that have ended: fields 14 to 17 of proc(5). */
    private static long cpuNs() {
        String stat = Files.text(Path.of("/proc/self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ");
        long sum = 0;
        for (int i = 11; i <= 14 && i < fields.length; i++) {
            sum += Long.parseLong(fields[i]) * TICK_NS;
        }
        return sum;
    }
}
