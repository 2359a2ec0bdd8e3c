package swtch.function;

import java.util.LinkedHashMap;
import java.util.Map;

/** When spinners ran: the raw timeline, from which the quota is inferred where the answer is read (crates/faas). */
final class Throttling {
    /** Fields of the document; throttling lacks the platform's own numbers yet. */
    final Map<String, Object> cpu;
    final Map<String, Object> throttling = new LinkedHashMap<>();

    Throttling(Request request, Unavailable unavailable) throws InterruptedException {
        throttling.put("spun", null);
        throttling.put("platform", null);
        if (request.number("spin_ms") == 0) {
            unavailable.add("cpu", "the request has spin_ms 0");
            unavailable.add("throttling.spun", "the request has spin_ms 0");
            cpu = null;
            return;
        }
        Spinner.Spun seen = Spinner.spin(request.whole("spinners"), request.number("spin_ms"), request.flag("pin"));
        var spun = new LinkedHashMap<String, Object>();
        spun.put("span_ns", seen.wallNs());
        spun.put("from", seen.from());
        spun.put("others_cpus", seen.othersCpus());
        spun.put("intervals", seen.threads().stream().map(one -> one.stream().map(Interval::document).toList()).toList());
        throttling.put("spun", spun);
        cpu = new LinkedHashMap<>();
        cpu.put("received", (double) seen.cpuNs() / seen.wallNs());
        cpu.put("spun_ns", seen.cpuNs());
        cpu.put("spinners", seen.threads().size());
    }
}
