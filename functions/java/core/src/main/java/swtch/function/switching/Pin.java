package swtch.function.switching;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import swtch.function.Files;
import swtch.function.Host;
import swtch.function.PinnedProcess;

/** Java has no call that says where a thread may run; util-linux has a program. Closing gives threads their places back. */
final class Pin implements AutoCloseable {
    private final Map<Long, String> before = new LinkedHashMap<>();
    private Long cpu;
    private String why;

    /** Lets these threads run on the caller's CPU only. */
    Pin(List<Long> threads) throws InterruptedException {
        Integer here = Host.currentCpu();
        if (here == null) {
            why = "/proc does not say on which CPU a thread is";
            return;
        }
        try {
            for (long thread : threads) {
                String status = Files.text(Path.of("/proc", String.valueOf(thread), "status"));
                String allowed = Files.find("^Cpus_allowed_list:\\s*(.*)$", status);
                // A thread of a virtual machine may have ended.
                if (allowed != null) {
                    taskset(here.toString(), thread);
                    before.put(thread, allowed);
                }
            }
            cpu = here.longValue();
        } catch (IOException e) {
            why = e.getMessage();
            close();
        }
    }

    /** Null where threads are not pinned. */
    Long cpu() {
        return cpu;
    }

    /** Why they are not; null where they are. */
    String why() {
        return why;
    }

    private static void taskset(String cpus, long thread) throws IOException, InterruptedException {
        PinnedProcess.taskset("-p", "-c", cpus, String.valueOf(thread));
    }

    @Override
    public void close() throws InterruptedException {
        for (var entry : before.entrySet()) {
            try {
                taskset(entry.getValue(), entry.getKey());
            } catch (IOException e) {
                // It has ended with the exchange.
            }
        }
    }
}
