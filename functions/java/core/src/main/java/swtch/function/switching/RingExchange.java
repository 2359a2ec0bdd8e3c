package swtch.function.switching;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import swtch.function.Cgroup;
import swtch.function.Files;
import swtch.function.Tasks;

/** Processes joined by pipes; this one is the first. Each adds its process id to the token, and the sum is checked. */
final class RingExchange implements Exchange {
    /** What a further virtual machine takes: without a place for it, the function would be killed. */
    private static final long BYTES_PER_TASK = 40L << 20;
    /** Under a small quota virtual machines need seconds to start. */
    private static final long START_SECONDS = 30;

    private final int taskCount;
    private final int laps;
    private final List<Process> children;
    private final List<Pipe> alone = new ArrayList<>();
    private final OutputStream first;
    private final InputStream last;
    private final long own = ProcessHandle.current().pid();
    private final byte[] token = new byte[Long.BYTES];
    private final ByteBuffer sum = ByteBuffer.wrap(token);
    private final ByteBuffer alonesToken = ByteBuffer.allocateDirect(Long.BYTES);
    private final long pids;
    private long expected;
    private long found;

    RingExchange(int taskCount, int switches) throws Exception {
        refuseWithoutMemory(taskCount);
        this.taskCount = taskCount;
        laps = (switches + taskCount - 1) / taskCount;
        // The pipeline's processes are joined by the kernel's pipes; its ends are here, and make it a ring.
        var tasks = new ArrayList<ProcessBuilder>();
        for (int i = 1; i < taskCount; i++) {
            tasks.add(task());
        }
        children = ProcessBuilder.startPipeline(tasks);
        first = children.get(0).getOutputStream();
        last = children.get(children.size() - 1).getInputStream();
        pids = own + children.stream().mapToLong(Process::pid).sum();
        try {
            for (int i = 0; i < taskCount; i++) {
                alone.add(Pipe.open());
            }
            withinTime(this::lap);
        } catch (Exception e) {
            children.forEach(Process::destroyForcibly);
            close();
            throw e;
        }
    }

    private static ProcessBuilder task() throws URISyntaxException {
        Path classes = Path.of(RingTask.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        var task = new ProcessBuilder(
                java.toString(), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx8m", "-cp", classes.toString(), RingTask.class.getName());
        // A platform's options for its own virtual machine are not for these.
        task.environment().remove("JAVA_TOOL_OPTIONS");
        return task.redirectError(ProcessBuilder.Redirect.DISCARD);
    }

    private static void refuseWithoutMemory(int tasks) throws IOException {
        Long limit = Cgroup.memoryLimit(Path.of("/"));
        Long resident = Files.whole(Files.find("^VmRSS:\\s*(\\d+)", Files.text(Path.of("/proc/self/status"))), 1024);
        long needed = (resident == null ? 0 : resident) + (tasks - 1) * BYTES_PER_TASK;
        if (limit != null && needed > limit) {
            throw new IOException(tasks + " processes of Java need about " + (needed >> 20) + " MB, and the limit is " + (limit >> 20) + " MB");
        }
    }

    private static void withinTime(Callable<Void> start) throws Exception {
        var executor = Executors.newSingleThreadExecutor();
        try {
            executor.submit(start).get(START_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new IOException("a task of the ring did not start: " + e.getCause().getMessage());
        } catch (TimeoutException e) {
            throw new IOException("the tasks of the ring did not start within " + START_SECONDS + " s");
        } finally {
            executor.shutdownNow();
        }
    }

    private Void lap() throws IOException {
        sum.putLong(0, own);
        first.write(token);
        first.flush();
        if (last.readNBytes(token, 0, token.length) != token.length) {
            throw new IOException("a task of the ring has ended");
        }
        return null;
    }

    @Override
    public String tasks() {
        return "processes";
    }

    @Override
    public int taskCount() {
        return taskCount;
    }

    @Override
    public String baseline() {
        return "one process, " + taskCount + " pipes";
    }

    @Override
    public int switches() {
        return laps * taskCount;
    }

    @Override
    public void gross() throws IOException {
        for (int i = 0; i < laps; i++) {
            lap();
            expected += pids;
            found += sum.getLong(0);
        }
    }

    @Override
    public void around() throws IOException {
        for (int i = 0; i < laps; i++) {
            for (Pipe pipe : alone) {
                pipe.sink().write(alonesToken.rewind());
                pipe.source().read(alonesToken.rewind());
            }
        }
    }

    /** All their threads: a virtual machine's first is not the one that runs. */
    @Override
    public List<Long> others() {
        return children.stream()
                .flatMap(child -> Tasks.of(child.pid()).directories().stream())
                .map(directory -> Long.valueOf(directory.getFileName().toString()))
                .toList();
    }

    @Override
    public Tasks.Counts counts() {
        Tasks.Counts all = new Tasks.Counts(0, 0);
        var processes = new ArrayList<>(List.of(own));
        children.forEach(child -> processes.add(child.pid()));
        for (long pid : processes) {
            Tasks.Counts counts = Tasks.of(pid).switches();
            if (counts == null) {
                return null;
            }
            all = all.plus(counts);
        }
        return all;
    }

    @Override
    public boolean countingIsSlow() {
        return true;
    }

    @Override
    public Map<String, Object> check() {
        var fields = new LinkedHashMap<String, Object>();
        fields.put("what", "sum of process ids");
        fields.put("expected", expected);
        fields.put("found", found);
        fields.put("ok", expected == found);
        return fields;
    }

    @Override
    public void close() throws IOException, InterruptedException {
        try {
            first.close();
        } catch (IOException e) {
            // The task that it led to has ended already.
        }
        for (Process child : children) {
            child.waitFor();
        }
        for (Pipe pipe : alone) {
            pipe.sink().close();
            pipe.source().close();
        }
    }
}
