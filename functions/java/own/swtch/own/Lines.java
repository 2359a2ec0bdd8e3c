package swtch.own;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;

/**
 * {@code Lines CLASS::METHOD --lines}: a user's own function, a line of standard input for each call. {@code swtch faas} runs it so;
 * functions/README.md has the protocol. What the function prints goes to standard error, so that it does not come between the answers.
 */
public final class Lines {
    private static final PrintStream ANSWERS = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private Lines() {}

    public static void main(String[] arguments) throws IOException {
        System.setOut(System.err);
        OwnFunction function = null;
        String why = null;
        try {
            function = new OwnFunction(arguments[0]);
        } catch (OwnFunction.NoFunction e) {
            why = OwnFunction.failure(e);
        }
        say("{\"ready\":true}");
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (function == null) {
                say("{\"status\":500,\"document\":" + why + "}");
            } else {
                answer(function, line);
            }
        }
        // The function may have left threads.
        System.exit(0);
    }

    private static void answer(OwnFunction function, String event) {
        long before = SYSTEM.getProcessCpuTime();
        long begun = System.nanoTime();
        String result;
        try {
            result = function.call(event);
        } catch (Throwable e) {
            say("{\"status\":500,\"document\":" + OwnFunction.failure(e) + "}");
            return;
        }
        long wall = System.nanoTime() - begun;
        // Reading the CPU time makes the kernel charge it, so that the answer comes first.
        say("{\"status\":200,\"document\":{\"schema\":\"swtch/faas-call/1\",\"result\":" + result + "},\"more\":true}");
        long cpu = SYSTEM.getProcessCpuTime() - before;
        String both = "\"wall_ns\":" + wall + ",\"cpu_ns\":" + cpu;
        // No call in Java counts switches of all threads: they are counted from outside.
        say("{" + both + ",\"usage\":{" + both + ",\"voluntary\":null,\"involuntary\":null,\"max_rss_bytes\":null}}");
    }

    private static void say(String line) {
        ANSWERS.print(line + "\n");
        ANSWERS.flush();
    }
}
