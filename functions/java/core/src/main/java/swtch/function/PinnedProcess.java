package swtch.function;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** All threads of this process on one CPU, until it is closed. The program of util-linux does it, because Java has no call that sets where
 * threads may run. */
public final class PinnedProcess implements AutoCloseable {
    private final String before;

    PinnedProcess(int cpu) throws IOException, InterruptedException {
        List<String> places = Tasks.of(ProcessHandle.current().pid()).directories().stream()
                .map(directory -> Files.find("^Cpus_allowed_list:\\s*(.*)$", Files.text(directory.resolve("status"))))
                // A thread may have ended.
                .filter(place -> place != null)
                .distinct()
                .toList();
        // Where threads have places of their own, they keep them.
        before = places.size() == 1 ? places.get(0) : null;
        if (before != null) {
            taskset("-a", "-p", "-c", String.valueOf(cpu), ownId());
        }
    }

    private static String ownId() {
        return String.valueOf(ProcessHandle.current().pid());
    }

    /** An error says why there is none, or that it has failed. */
    public static void taskset(String... arguments) throws IOException, InterruptedException {
        var command = new ArrayList<>(List.of("taskset"));
        command.addAll(List.of(arguments));
        Process process;
        try {
            process = new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new IOException("Java has no call for it, and there is no taskset here", e);
        }
        int status = process.waitFor();
        if (status != 0) {
            throw new IOException("taskset ended with " + status);
        }
    }

    @Override
    public void close() throws IOException, InterruptedException {
        if (before != null) {
            taskset("-a", "-p", "-c", before, ownId());
        }
    }
}
