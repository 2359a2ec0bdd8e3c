package swtch.function;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Spinners as processes. Threads of this one would share a quota with the virtual machine's own, which compile and collect on other CPUs.
 * Each CPU takes part of a quota of its own accord and keeps some.
 */
final class SpinProcesses implements AutoCloseable {
    /** What a further virtual machine takes: without a place for it, the function would be killed. */
    private static final long BYTES_PER_PROCESS = 40L << 20;
    /** For all to have read when to begin. */
    private static final long START_NS = 5_000_000;

    /** A compiler that does next to nothing for so long is done; it may not have been let run within a period. */
    private static final long QUIET_MS = 150;
    /** A hundredth of what the smallest quota lets run in that time. */
    private static final long QUIET_NS = 100_000;
    /** One method may take a quarter of a second, which is 4 s under the smallest quota. */
    private static final long LONGEST_QUIET_NS = 10_000_000_000L;

    /** Of what the spinners used. */
    private static final double MOST_COMPILED = 0.01;
    private static final int MOST_ATTEMPTS = 3;

    private final List<Process> processes = new ArrayList<>();

    private SpinProcesses() {}

    /** Each on a CPU of its own when they are as many as the CPUs, and a single one where this process is; or anywhere. */
    static Spinner.Spun spin(int spinners, double ms, boolean pinned) throws IOException, InterruptedException {
        refuseWithoutMemory(spinners);
        List<Integer> allowed = Host.cpus();
        Integer alone = pinned && spinners == 1 ? Host.currentCpu() : null;
        try (var all = new SpinProcesses()) {
            for (int i = 0; i < spinners; i++) {
                all.processes.add(start(pinned && spinners == allowed.size() ? allowed.get(i) : alone));
            }
            // This one's other threads too: what another CPU had kept of the quota before would be theirs.
            try (var here = alone == null ? null : new PinnedProcess(alone)) {
                return all.spin(ms);
            }
        } catch (EOFException e) {
            throw new IOException("a spinner ended without an answer", e);
        }
    }

    private static void refuseWithoutMemory(int spinners) throws IOException {
        Long limit = Cgroup.memoryLimit(Path.of("/"));
        Long resident = Files.whole(Files.find("^VmRSS:\\s*(\\d+)", Files.text(Path.of("/proc/self/status"))), 1024);
        long needed = (resident == null ? 0 : resident) + spinners * BYTES_PER_PROCESS;
        if (limit != null && needed > limit) {
            throw new IOException("with " + spinners + " more Java needs about " + (needed >> 20) + " MB, and the limit is " + (limit >> 20) + " MB");
        }
    }

    private static Process start(Integer cpu) throws IOException {
        var command = new ArrayList<String>();
        if (cpu != null) {
            command.addAll(List.of("taskset", "-c", cpu.toString()));
        }
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // No compiler, no collector's threads, no samples of counters: hardly anything runs beside the spinner.
        command.addAll(List.of("-Xint", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx8m", "-cp", classes(), SpinTask.class.getName()));
        var task = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
        // A platform's options for its own virtual machine are not for these.
        task.environment().remove("JAVA_TOOL_OPTIONS");
        return task.start();
    }

    private static String classes() throws IOException {
        try {
            return Path.of(SpinTask.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
        } catch (URISyntaxException | RuntimeException e) {
            // A platform may load classes from something that is not a file.
            throw new IOException("a spinner's classes are not found: " + e.getMessage(), e);
        }
    }

    /** Compiling what ran before would be charged to the quota while spinners run. Looking for the threads each time would itself be compiled. */
    private static void waitFor(Tasks compilers) throws InterruptedException {
        long end = System.nanoTime() + LONGEST_QUIET_NS;
        long before;
        long compiled = compilers.cpuNs();
        do {
            before = compiled;
            Thread.sleep(QUIET_MS);
            compiled = compilers.cpuNs();
        } while (compiled - before > QUIET_NS && System.nanoTime() < end);
    }

    /** Once more where the compiler was busy all the same: what it had is missing in some periods and not in others. */
    private Spinner.Spun spin(double ms) throws IOException, InterruptedException {
        var answers = new ArrayList<DataInputStream>();
        for (Process process : processes) {
            var answer = new DataInputStream(new BufferedInputStream(process.getInputStream()));
            if (answer.read() != SpinTask.READY) {
                throw new IOException("a spinner did not start");
            }
            answers.add(answer);
        }
        long own = ProcessHandle.current().pid();
        for (int attempt = 1; ; attempt++) {
            // The spinner has loaded its classes, which is more than what others of its process did.
            Tasks others = Tasks.of(own).regular("spinner", Tasks.currentThread());
            for (Process process : processes) {
                others = others.and(Tasks.of(process.pid()).withoutBusiest().regular("", null));
            }
            Tasks compilers = Tasks.of(own).compilers();
            // For the compiler too: what reads these is compiled before.
            others.cpuNs();
            waitFor(compilers);
            Seen seen = once(ms, answers, others, compilers);
            if (seen.compiledNs <= MOST_COMPILED * seen.spun.cpuNs()) {
                return seen.spun;
            }
            if (attempt == MOST_ATTEMPTS) {
                return seen.spun.withOthers(seen.compiledNs / seen.spanNs);
            }
        }
    }

    /** What an attempt saw, and what compilers had in a span that holds it. */
    private record Seen(Spinner.Spun spun, long compiledNs, double spanNs) {}

    private Seen once(double ms, List<DataInputStream> answers, Tasks others, Tasks compilers) throws IOException {
        long othersNs = others.cpuNs();
        long compiledNs = compilers.cpuNs();
        long from = System.nanoTime();
        long begin = from + START_NS;
        for (Process process : processes) {
            var ask = new DataOutputStream(process.getOutputStream());
            ask.writeLong(begin);
            ask.writeLong(begin + (long) (ms * 1e6));
            ask.writeLong(Spinner.MOST_INTERVALS / processes.size());
            ask.flush();
        }
        // To read the answers is work of its own, which no spinner waits for.
        answers.get(0).mark(1);
        answers.get(0).read();
        answers.get(0).reset();
        othersNs = Math.max(0, others.cpuNs() - othersNs);
        compiledNs = Math.max(0, compilers.cpuNs() - compiledNs);
        double spanNs = System.nanoTime() - from;
        var intervals = new ArrayList<List<Interval>>();
        long cpuNs = 0;
        long wallNs = 0;
        for (DataInputStream answer : answers) {
            var mine = new ArrayList<Interval>();
            cpuNs += SpinTask.read(answer, mine);
            intervals.add(mine);
            // It may have been stopped just before its end.
            wallNs = Math.max(wallNs, mine.get(mine.size() - 1).endNs());
        }
        return new Seen(new Spinner.Spun(intervals, wallNs, cpuNs, othersNs / spanNs, ""), compiledNs, spanNs);
    }

    @Override
    public void close() throws InterruptedException {
        for (Process process : processes) {
            process.destroyForcibly().waitFor();
        }
    }
}
