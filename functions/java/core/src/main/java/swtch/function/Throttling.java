package swtch.function;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the function received of the CPUs, and the quota that its gaps tell. */
final class Throttling {
    private static final int MOST_GAPS = 2000;
    /** Of the quota: more was busy in few periods, and says nothing of the others. */
    private static final double MOST_OTHERS = 0.05;
    /** Without a period to be found, shares are of this many windows. */
    private static final int WINDOWS = 10;

    /** Fields of the document; throttling lacks the platform's own numbers yet. */
    final Map<String, Object> cpu;
    final Map<String, Object> throttling = new LinkedHashMap<>();

    Throttling(Request request, Unavailable unavailable) throws InterruptedException {
        throttling.put("inferred", null);
        throttling.put("platform", null);
        throttling.put("gaps", List.of());
        throttling.put("gaps_left_out", 0);
        if (request.number("spin_ms") == 0) {
            unavailable.add("cpu", "the request has spin_ms 0");
            unavailable.add("throttling.inferred", "the request has spin_ms 0");
            cpu = null;
            return;
        }
        Spinner.Spun spun = Spinner.spin(request.whole("spinners"), request.number("spin_ms"), request.flag("pin"));
        Quota.Outcome outcome = Quota.infer(spun.threads());
        Quota.Inferred found = outcome.found();
        throttling.put("inferred", inferred(outcome, spun, unavailable));
        List<List<Long>> gaps = Quota.idle(spun.threads(), Spinner.GAP_NS);
        throttling.put("gaps", longest(gaps));
        throttling.put("gaps_left_out", Math.max(0, gaps.size() - MOST_GAPS));
        double window = found == null ? spun.wallNs() / (double) WINDOWS : found.periodNs();
        double[] shares = Quota.shares(spun.threads(), found == null ? 0 : found.firstNs(), window, spun.wallNs());
        if (shares.length == 0) {
            unavailable.add("cpu.share", "the spinning was shorter than a period");
        }
        cpu = new LinkedHashMap<>();
        cpu.put("share", shares.length == 0 ? null : Statistics.estimate(shares).document());
        cpu.put("spun_ns", spun.cpuNs());
        cpu.put("spinners", spun.threads().size());
    }

    private static Map<String, Object> inferred(Quota.Outcome outcome, Spinner.Spun spun, Unavailable unavailable) {
        Quota.Inferred found = outcome.found();
        Double quota = found == null ? null : withOthers(found, spun.othersCpus());
        if (found == null) {
            unavailable.add("throttling.inferred.period_ns", outcome.why());
            unavailable.add("throttling.inferred.quota_ns", outcome.why());
        }
        var fields = new LinkedHashMap<String, Object>();
        fields.put("period_ns", found == null ? null : found.periodNs());
        fields.put("quota_ns", quota);
        fields.put("cpus", found == null ? (double) spun.cpuNs() / spun.wallNs() : quota / found.periodNs());
        fields.put("throttled_ns", found == null ? 0 : found.throttledNs());
        fields.put("gaps", found == null ? 0 : found.gaps());
        fields.put("periods", found == null ? 0 : found.periods());
        fields.put("from", spun.from());
        return fields;
    }

    /** The virtual machine's other threads are charged to the same quota. */
    private static double withOthers(Quota.Inferred found, double othersCpus) {
        return found.quotaNs() + Math.min(found.periodNs() * othersCpus, MOST_OTHERS * found.quotaNs());
    }

    private static List<List<Long>> longest(List<List<Long>> gaps) {
        return gaps.stream()
                .sorted(Comparator.comparing((List<Long> gap) -> gap.get(1)).reversed())
                .limit(MOST_GAPS)
                .sorted(Comparator.comparing((List<Long> gap) -> gap.get(0)))
                .toList();
    }
}
