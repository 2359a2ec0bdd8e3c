package swtch.function;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Stream;

/** The cgroup's own numbers, versions 1 and 2. */
public final class Cgroup {
    /** More means no limit: version 1 says "none" by a number near 2^63. */
    private static final long LARGEST_LIMIT = 1L << 60;

    private Cgroup() {}

    /** The CPU quota that this process is under and what it has cost so far; null where no cgroup can be read. */
    static Map<String, Object> quota(Path root) {
        List<Path> directories = groups(root, "cpu");
        return directories.isEmpty() ? limited(groups(root, ""), Cgroup::quotaV2) : limited(directories, Cgroup::quotaV1);
    }

    /** What it has cost since an earlier reading. */
    static Map<String, Object> since(Map<String, Object> before, Map<String, Object> after) {
        if (before == null || after == null || !before.get("source").equals(after.get("source"))) {
            return after;
        }
        var difference = new LinkedHashMap<>(after);
        for (String name : List.of("periods", "periods_throttled", "throttled_ns")) {
            difference.computeIfPresent(name, (key, value) ->
                    before.get(key) == null ? null : Math.max(0, (Long) value - (Long) before.get(key)));
            difference.putIfAbsent(name, null);
        }
        return difference;
    }

    /** The innermost group that has a quota; without any, the process's own. */
    private static Map<String, Object> limited(List<Path> directories, Function<Path, Map<String, Object>> read) {
        List<Map<String, Object>> found = directories.stream().map(read).filter(Objects::nonNull).toList();
        Stream<Map<String, Object>> limited = found.stream().filter(group -> group.get("quota_ns") != null);
        return limited.findFirst().orElse(found.isEmpty() ? null : found.get(0));
    }

    private static Map<String, Object> quotaV1(Path directory) {
        Long period = Files.whole(Files.firstLine(directory.resolve("cpu.cfs_period_us")), 1000);
        Long quota = Files.whole(Files.firstLine(directory.resolve("cpu.cfs_quota_us")), 1000);
        return period == null ? null : group(1, period, quota, directory, "throttled_time", 1);
    }

    private static Map<String, Object> quotaV2(Path directory) {
        String[] limit = Files.firstLine(directory.resolve("cpu.max")).split(" ");
        if (limit.length < 2) {
            return null;
        }
        return group(2, Files.whole(limit[1], 1000), Files.whole(limit[0], 1000), directory, "throttled_usec", 1000);
    }

    private static Map<String, Object> group(
            int version, Long period, Long quota, Path directory, String throttled, long unit) {
        Path source = directory.resolve("cpu.stat");
        String counters = Files.text(source);
        var fields = new LinkedHashMap<String, Object>();
        fields.put("version", version);
        fields.put("period_ns", period);
        fields.put("quota_ns", quota);
        fields.put("periods", counter(counters, "nr_periods", 1));
        fields.put("periods_throttled", counter(counters, "nr_throttled", 1));
        fields.put("throttled_ns", counter(counters, throttled, unit));
        fields.put("source", source.toString());
        return fields;
    }

    private static Long counter(String counters, String name, long unit) {
        return Files.whole(Files.find("^" + name + " (\\d+)$", counters), unit);
    }

    /** The tightest memory limit of this process's groups in bytes, or null. */
    public static Long memoryLimit(Path root) {
        Stream<Long> v1 = groups(root, "memory").stream()
                .map(directory -> Files.whole(Files.firstLine(directory.resolve("memory.limit_in_bytes")), 1));
        Stream<Long> v2 = groups(root, "").stream()
                .map(directory -> Files.whole(Files.firstLine(directory.resolve("memory.max")), 1));
        return Stream.concat(v1, v2)
                .filter(limit -> limit != null && limit < LARGEST_LIMIT)
                .min(Long::compare)
                .orElse(null);
    }

    /** Directories of this process's cgroup and those above it, innermost first: of a controller of version 1, or of version 2 for "". */
    private static List<Path> groups(Path root, String controller) {
        String own = null;
        for (String line : Files.text(root.resolve("proc/self/cgroup")).split("\n")) {
            String[] parts = line.split(":", 3);
            if (own == null && parts.length == 3 && has(parts[1], controller)) {
                own = parts[2];
            }
        }
        if (own == null) {
            return List.of();
        }
        for (String line : Files.text(root.resolve("proc/self/mountinfo")).split("\n")) {
            String[] halves = line.split(" - ", 2);
            String[] mount = halves[0].split(" ");
            if (halves.length == 2 && mount.length >= 5 && holds(halves[1].split(" "), controller)) {
                // Inside a container the mount begins at its own group.
                String top = mount[3].equals("/") ? "" : mount[3];
                String inner = own.startsWith(top) ? own.substring(top.length()) : "";
                return upwards(root.resolve("." + mount[4]).normalize(), inner);
            }
        }
        return List.of();
    }

    private static boolean holds(String[] kind, String controller) {
        if (controller.isEmpty()) {
            return kind[0].equals("cgroup2");
        }
        return kind[0].equals("cgroup") && has(kind[kind.length - 1], controller);
    }

    private static boolean has(String list, String wanted) {
        return Arrays.asList(list.split(",", -1)).contains(wanted);
    }

    private static List<Path> upwards(Path top, String inner) {
        var directories = new ArrayList<Path>();
        for (Path at = Path.of("/", inner).normalize(); at != null; at = at.getParent()) {
            directories.add(top.resolve("." + at).normalize());
        }
        return directories;
    }
}
