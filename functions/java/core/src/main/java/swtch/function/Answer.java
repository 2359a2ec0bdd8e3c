package swtch.function;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import swtch.function.switching.Measure;

/** The measurement inside a function, from the request to the document swtch/faas/2. Null has its reason in `unavailable`. */
public final class Answer {
    /** Of the handlers, all languages alike. */
    private static final String VERSION = "0.1.0";
    private static final Path ROOT = Path.of("/");

    private static long invocations;

    private Answer() {}

    /** Measures; the id is the platform's name of the invocation, or null. Two measurements at a time would measure each other. */
    public static Map<String, Object> to(Request request, String platform, String id) throws InterruptedException {
        return to(request, platform, id, () -> {});
    }

    /** The same; {@code worked} is run when work that was asked for is done. */
    static synchronized Map<String, Object> to(Request request, String platform, String id, Runnable worked) throws InterruptedException {
        invocations++;
        var usage = new Usage();
        Map<String, Object> quota = Cgroup.quota(ROOT);
        var unavailable = new Unavailable();
        var fields = new LinkedHashMap<String, Object>();
        fields.put("schema", "swtch/faas/2");
        fields.put("created_at", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
        fields.put("handler", handler());
        fields.put("platform", Platform.read(platform, System.getenv()));
        fields.put("invocation", invocation(id));
        Map<String, Object> host = Host.read(ROOT, platform, unavailable);
        fields.put("host", host);
        fields.put("request", request.document());
        fields.put("measurements", Measure.all(request, "gvisor".equals(host.get("sandbox")), unavailable));
        fields.put("clock", Clock.describe());
        var spun = new Throttling(request, unavailable);
        fields.put("cpu", spun.cpu);
        fields.put("throttling", spun.throttling);
        boolean works = request.number("work_ms") > 0 || request.number("iterations") > 0;
        fields.put("work", works ? Work.work(request.number("work_ms"), (long) request.number("iterations"), worked) : null);
        spun.throttling.put("platform", Cgroup.since(quota, Cgroup.quota(ROOT)));
        if (spun.throttling.get("platform") == null) {
            unavailable.add("throttling.platform", "no cgroup with the cpu controller can be read");
        }
        fields.put("usage", usage.sinceThen(unavailable));
        fields.put("unavailable", unavailable.document());
        return fields;
    }

    private static Map<String, Object> handler() {
        var fields = new LinkedHashMap<String, Object>();
        fields.put("version", VERSION);
        fields.put("language", "java");
        fields.put("runtime", "OpenJDK");
        fields.put("runtime_version", System.getProperty("java.version"));
        fields.put("libc", Host.libc());
        return fields;
    }

    private static Map<String, Object> invocation(String id) {
        var fields = new LinkedHashMap<String, Object>();
        fields.put("number", invocations);
        fields.put("cold", invocations == 1);
        fields.put("id", id == null || id.isEmpty() ? null : id);
        fields.put("process_age_ns", ManagementFactory.getRuntimeMXBean().getUptime() * 1_000_000);
        return fields;
    }
}
