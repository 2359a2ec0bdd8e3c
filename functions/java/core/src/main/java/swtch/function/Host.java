package swtch.function;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** What the function runs on, from files that need no privilege. */
final class Host {
    private Host() {}

    static Map<String, Object> read(Path root, String platform, Unavailable unavailable) {
        int allowed = cpusAllowed();
        String model = Files.find("^model name\\s*:\\s*(.*)$", Files.text(root.resolve("proc/cpuinfo")));
        Long memory = Cgroup.memoryLimit(root);
        if (model == null) {
            unavailable.add("host.cpu_model", "/proc/cpuinfo has no model name");
        }
        if (memory == null) {
            unavailable.add("host.memory_limit_bytes", "no control group of this process has a limit that can be read");
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
        String list = Files.find("^Cpus_allowed_list:\\s*(.*)$", Files.text(Path.of("/proc/self/status")));
        return Math.max(1, count(list, Runtime.getRuntime().availableProcessors()));
    }

    /** CPUs in a list such as 0-3,8. */
    private static int count(String list, int otherwise) {
        int sum = 0;
        for (String part : list == null ? new String[0] : list.split(",")) {
            String[] ends = part.split("-", 2);
            Long from = Files.whole(ends[0], 1);
            Long to = Files.whole(ends[ends.length - 1], 1);
            if (from == null || to == null) {
                return otherwise;
            }
            sum += (int) (to - from + 1);
        }
        return sum == 0 ? otherwise : sum;
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
