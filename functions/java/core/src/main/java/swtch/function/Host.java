package swtch.function;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the function runs on, from files that need no privilege. */
public final class Host {
    private Host() {}

    static Map<String, Object> read(Path root, String platform, Unavailable unavailable) {
        int allowed = cpusAllowed();
        String model = Files.find("^model name\\s*:\\s*(.*)$", Files.text(root.resolve("proc/cpuinfo")));
        Long memory = Cgroup.memoryLimit(root);
        if (model == null) {
            unavailable.add("host.cpu_model", "/proc/cpuinfo has no model name");
        }
        if (memory == null) {
            unavailable.add("host.memory_limit_bytes", "no cgroup of this process has a limit that can be read");
        }
        var fields = new LinkedHashMap<String, Object>();
        fields.put("architecture", System.getProperty("os.arch").replace("amd64", "x86_64"));
        fields.put("kernel_release", System.getProperty("os.version"));
        fields.put("cpu_model", model);
        fields.put("cpus_online", Math.max(1, count(Files.firstLine(root.resolve("sys/devices/system/cpu/online")), allowed)));
        fields.put("cpus_allowed", allowed);
        fields.put("memory_limit_bytes", memory);
        fields.put("sandbox", sandbox(root, platform));
        return fields;
    }

    /** By the kernel: availableProcessors is less under a quota. */
    static int cpusAllowed() {
        return Math.max(1, count(allowed(), Runtime.getRuntime().availableProcessors()));
    }

    /** Numbers of the CPUs that this process may run on; none where the kernel does not say. */
    static List<Integer> cpus() {
        return numbers(allowed());
    }

    private static String allowed() {
        return Files.find("^Cpus_allowed_list:\\s*(.*)$", Files.text(Path.of("/proc/self/status")));
    }

    /** The CPU that the caller runs on: field 39 of proc(5), counted after the name, which may have spaces. Null where /proc does not say. */
    public static Integer currentCpu() {
        String stat = Files.text(Path.of("/proc/thread-self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ");
        Long here = fields.length > 36 ? Files.whole(fields[36], 1) : null;
        return here == null ? null : here.intValue();
    }

    private static int count(String list, int otherwise) {
        List<Integer> found = numbers(list);
        return found.isEmpty() ? otherwise : found.size();
    }

    /** CPUs in a list such as 0-3,8; none where it is no such list. */
    private static List<Integer> numbers(String list) {
        var found = new ArrayList<Integer>();
        for (String part : list == null ? new String[0] : list.split(",")) {
            String[] ends = part.split("-", 2);
            Long from = Files.whole(ends[0], 1);
            Long to = Files.whole(ends[ends.length - 1], 1);
            if (from == null || to == null) {
                return List.of();
            }
            for (long cpu = from; cpu <= to; cpu++) {
                found.add((int) cpu);
            }
        }
        return found;
    }

    /** gVisor gives itself away by the kernel that it imitates, Firecracker by the devices on its kernel's command line. */
    private static String sandbox(Path root, String platform) {
        String version = Files.firstLine(root.resolve("proc/version"));
        if (version.contains("gVisor") || version.contains("4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016")) {
            return "gvisor";
        }
        boolean devices = Files.firstLine(root.resolve("proc/cmdline")).contains("virtio_mmio.device=");
        return platform.equals("lambda") || devices ? "firecracker" : null;
    }

    /** The C library of this process; null where /proc does not say. */
    static String libc() {
        String maps = Files.text(Path.of("/proc/self/maps"));
        return maps.isEmpty() ? null : maps.contains("ld-musl-") ? "musl" : "glibc";
    }
}
