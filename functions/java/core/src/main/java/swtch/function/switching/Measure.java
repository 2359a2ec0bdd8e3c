package swtch.function.switching;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import swtch.function.Median;
import swtch.function.Request;
import swtch.function.Tasks;
import swtch.function.Unavailable;

/** What it costs to hand the CPU from one task to another, batch by batch, each beside its baseline. */
public final class Measure {
    /** Looking after every batch would stop by luck. */
    private static final int LOOK_EVERY = 10;
    /** Batches before the first, in ns: the compiler needs some. */
    private static final long WARM_UP_NS = 50_000_000;

    private final Exchange exchange;
    private final List<Long> gross = new ArrayList<>();
    private final List<Long> around = new ArrayList<>();
    private Tasks.Counts made = new Tasks.Counts(0, 0);
    private String stoppedBy = "batch limit";

    private Measure(Exchange exchange) {
        this.exchange = exchange;
    }

    /** The methods asked for, one after the other. Methods that cannot be measured are in the list instead of the answer. */
    public static List<Map<String, Object>> all(Request request, boolean gvisor, Unavailable unavailable)
            throws InterruptedException {
        var measurements = new ArrayList<Map<String, Object>>();
        for (String method : request.methods()) {
            try {
                measurements.add(one(method, request, gvisor, "measurements." + measurements.size(), unavailable));
            } catch (InterruptedException e) {
                throw e;
            } catch (Exception e) {
                unavailable.add("measurements." + method, e.getMessage() == null ? e.toString() : e.getMessage());
            }
        }
        return measurements;
    }

    private static Map<String, Object> one(
            String method, Request request, boolean gvisor, String place, Unavailable unavailable) throws Exception {
        try (Exchange exchange = open(method, request)) {
            Long mine = Tasks.currentThread();
            boolean pins = request.flag("pin") && mine != null;
            List<Long> threads = pins ? Stream.concat(Stream.of(mine), exchange.others().stream()).toList() : List.of();
            try (Pin pin = pins ? new Pin(threads) : null) {
                var measure = new Measure(exchange);
                measure.repeat(request);
                var fields = measure.summary(method, pin == null ? null : pin.cpu());
                fields.put("switches", measure.switchesMade(gvisor, place, unavailable));
                fields.put("batches_ns", Map.of("gross", measure.gross, "baseline", measure.around));
                if (request.flag("pin") && (pin == null || pin.why() != null)) {
                    unavailable.add(place + ".cpu", pin == null ? "/proc does not say which thread this is" : pin.why());
                }
                return fields;
            }
        }
    }

    private static Exchange open(String method, Request request) throws Exception {
        int switches = request.whole("switches_per_batch");
        return switch (method) {
            case "pipe" -> new PipeExchange(switches);
            case "condvar" -> new CondvarExchange(switches);
            default -> new RingExchange(request.whole("ring_tasks"), switches);
        };
    }

    private interface Batch {
        void run() throws Exception;
    }

    private void repeat(Request request) throws Exception {
        double limitNs = request.number("time_limit_ms") * 1e6;
        for (long begin = System.nanoTime(); System.nanoTime() - begin < Math.min(WARM_UP_NS, limitNs / 10); ) {
            exchange.gross();
            exchange.around();
        }
        Tasks.Counts before = exchange.counts();
        long begin = System.nanoTime();
        while (gross.size() < request.whole("max_batches")) {
            pair();
            boolean look = gross.size() >= request.whole("min_batches") && gross.size() % LOOK_EVERY == 0;
            if (look && Median.narrow(gross.stream().mapToLong(ns -> ns).toArray(), request.number("interval"))) {
                stoppedBy = "interval";
                break;
            }
            if (System.nanoTime() - begin >= limitNs) {
                stoppedBy = "time limit";
                break;
            }
        }
        if (exchange.countingIsSlow()) {
            Tasks.Counts after = exchange.counts();
            made = before == null || after == null ? null : after.since(before);
        }
    }

    /** A batch, and its baseline right after it. */
    private void pair() throws Exception {
        boolean counting = !exchange.countingIsSlow() && made != null;
        Tasks.Counts before = counting ? exchange.counts() : null;
        gross.add(timed(exchange::gross));
        if (counting) {
            Tasks.Counts after = exchange.counts();
            made = before == null || after == null ? null : made.plus(after.since(before));
        }
        around.add(timed(exchange::around));
    }

    private static long timed(Batch batch) throws Exception {
        long begin = System.nanoTime();
        batch.run();
        return System.nanoTime() - begin;
    }

    private Map<String, Object> summary(String method, Long cpu) {
        long[] net = IntStream.range(0, gross.size()).mapToLong(i -> gross.get(i) - around.get(i)).toArray();
        var fields = new LinkedHashMap<String, Object>();
        fields.put("method", method);
        fields.put("tasks", exchange.tasks());
        fields.put("task_count", exchange.taskCount());
        fields.put("baseline", exchange.baseline());
        fields.put("pinned", cpu != null);
        fields.put("cpu", cpu);
        fields.put("switches_per_batch", exchange.switches());
        fields.put("batches", gross.size());
        fields.put("stopped_by", stoppedBy);
        fields.put("median_ns", Median.of(net) / exchange.switches());
        fields.put("check", exchange.check());
        return fields;
    }

    private Map<String, Object> switchesMade(boolean gvisor, String place, Unavailable unavailable) {
        long expected = (long) gross.size() * exchange.switches();
        boolean told = made != null && made.voluntary() + made.involuntary() > 0;
        if (!told) {
            String why = "the kernel's counter did not move although tasks waited for each other";
            unavailable.add(place + ".switches.voluntary", why);
            unavailable.add(place + ".switches.involuntary", why);
        } else if (gvisor) {
            unavailable.add(place + ".switches.involuntary", "gVisor always says 0");
        }
        Long involuntary = told && !gvisor ? Long.valueOf(made.involuntary()) : null;
        var fields = new LinkedHashMap<String, Object>();
        fields.put("expected", expected);
        fields.put("voluntary", told ? made.voluntary() : null);
        fields.put("involuntary", involuntary);
        fields.put("counted_by", told ? "/proc/self/task/*/status" : null);
        double all = told ? made.voluntary() + (involuntary == null ? 0 : involuntary) : 0;
        fields.put("per_expected", told ? all / expected : null);
        return fields;
    }
}
