package swtch.function;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** The kernel's threads of a process, as they were when it was looked. */
public record Tasks(List<Path> folders) {
    /** What the kernel has counted. */
    public record Counts(long voluntary, long involuntary) {
        public Counts plus(Counts more) {
            return new Counts(voluntary + more.voluntary, involuntary + more.involuntary);
        }

        public Counts since(Counts before) {
            return new Counts(voluntary - before.voluntary, involuntary - before.involuntary);
        }
    }

    /** None where /proc does not say. */
    public static Tasks of(long pid) {
        try (var folders = java.nio.file.Files.list(Path.of("/proc", String.valueOf(pid), "task"))) {
            return new Tasks(folders.toList());
        } catch (IOException e) {
            return new Tasks(List.of());
        }
    }

    /** Those that have another name and another number. */
    Tasks without(String name, Long thread) {
        return new Tasks(folders.stream()
                .filter(folder -> !Files.firstLine(folder.resolve("comm")).equals(name))
                .filter(folder -> !folder.getFileName().toString().equals(String.valueOf(thread)))
                .toList());
    }

    /** CPU time in ns, by schedstat's first number. */
    long cpuNs() {
        long sum = 0;
        for (Path folder : folders) {
            Long ns = Files.whole(Files.firstLine(folder.resolve("schedstat")).split(" ")[0], 1);
            sum += ns == null ? 0 : ns;
        }
        return sum;
    }

    /** Null where one of them cannot be read. */
    public Counts switches() {
        var sum = new Counts(0, 0);
        for (Path folder : folders) {
            String status = Files.text(folder.resolve("status"));
            Long voluntary = Files.whole(Files.find("^voluntary_ctxt_switches:\\s*(\\d+)", status), 1);
            Long involuntary = Files.whole(Files.find("^nonvoluntary_ctxt_switches:\\s*(\\d+)", status), 1);
            if (voluntary == null || involuntary == null) {
                return null;
            }
            sum = sum.plus(new Counts(voluntary, involuntary));
        }
        return folders.isEmpty() ? null : sum;
    }

    /** The kernel's number of the calling thread; null where /proc does not say. */
    public static Long currentThread() {
        try {
            return Long.valueOf(java.nio.file.Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
        } catch (IOException e) {
            return null;
        }
    }
}
