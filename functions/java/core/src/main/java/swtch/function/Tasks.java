package swtch.function;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** The kernel's threads of a process, as they were when it was looked. */
public record Tasks(List<Path> directories) {
    private static final Predicate<String> COMPILER = Pattern.compile("C[12] Compiler").asPredicate();
    private static final Predicate<String> COLLECTOR = Pattern.compile("^GC Thread|^G1 (Conc|Main|Refine)").asPredicate();

    /** What the kernel has counted. */
    public record Counts(long voluntary, long involuntary) {
        public Counts plus(Counts more) {
            return new Counts(voluntary + more.voluntary, involuntary + more.involuntary);
        }

        public Counts since(Counts before) {
            return new Counts(voluntary - before.voluntary, involuntary - before.involuntary);
        }
    }

    Tasks and(Tasks more) {
        var all = new ArrayList<>(directories);
        all.addAll(more.directories);
        return new Tasks(all);
    }

    /** None where /proc does not say. */
    public static Tasks of(long pid) {
        try (var directories = java.nio.file.Files.list(Path.of("/proc", String.valueOf(pid), "task"))) {
            return new Tasks(directories.toList());
        } catch (IOException e) {
            return new Tasks(List.of());
        }
    }

    /**
     * Those that have another name and another number, and do what they do all the time. A compiler or collector that is busy in few
     * periods says nothing of the others.
     */
    Tasks regular(String withoutName, Long withoutThread) {
        Tasks others = select(name -> !name.equals(withoutName) && !COMPILER.test(name) && !COLLECTOR.test(name));
        return new Tasks(others.directories.stream()
                .filter(directory -> !directory.getFileName().toString().equals(String.valueOf(withoutThread)))
                .toList());
    }

    Tasks compilers() {
        return select(COMPILER);
    }

    private Tasks select(Predicate<String> byName) {
        return new Tasks(directories.stream().filter(directory -> byName.test(Files.firstLine(directory.resolve("comm")))).toList());
    }

    /** CPU time in ns, by schedstat's first number. */
    long cpuNs() {
        return directories.stream().mapToLong(Tasks::cpuNs).sum();
    }

    /** The one of these that has used the most of the CPU is not among them. */
    Tasks withoutBusiest() {
        return new Tasks(directories.stream().sorted(Comparator.comparingLong(Tasks::cpuNs)).limit(Math.max(0, directories.size() - 1)).toList());
    }

    private static long cpuNs(Path directory) {
        Long ns = Files.whole(Files.firstLine(directory.resolve("schedstat")).split(" ")[0], 1);
        return ns == null ? 0 : ns;
    }

    /** Null where one of them cannot be read. */
    public Counts switches() {
        var sum = new Counts(0, 0);
        for (Path directory : directories) {
            String status = Files.text(directory.resolve("status"));
            Long voluntary = Files.whole(Files.find("^voluntary_ctxt_switches:\\s*(\\d+)", status), 1);
            Long involuntary = Files.whole(Files.find("^nonvoluntary_ctxt_switches:\\s*(\\d+)", status), 1);
            if (voluntary == null || involuntary == null) {
                return null;
            }
            sum = sum.plus(new Counts(voluntary, involuntary));
        }
        return directories.isEmpty() ? null : sum;
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
