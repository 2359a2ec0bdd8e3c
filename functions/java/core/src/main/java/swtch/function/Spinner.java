package swtch.function;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Keeps threads busy, each reading the clock. */
final class Spinner {
    /** A jump of the clock beyond this is a gap: interrupts are shorter. */
    static final long GAP_NS = 200_000;
    /** How often the kernel is made to charge the running time. */
    private static final long CHARGE_NS = 100_000;

    private Spinner() {}

    /** Spinning before it counts, in CPU time: compiling it would be charged to the quota too. */
    private static final long WARM_UP_NS = 20_000_000;
    private static final long LONGEST_WARM_UP_NS = 100_000_000;

    /** CPU time is of the spinning threads, and what the others of this process had meanwhile. */
    record Spun(List<List<Quota.Stretch>> threads, long wallNs, long cpuNs, long othersNs) {}

    static Spun spin(int spinners, double ms) throws InterruptedException {
        var stretches = new ArrayList<List<Quota.Stretch>>();
        var cpuNs = new long[spinners];
        var threads = new ArrayList<Thread>();
        var ready = new CountDownLatch(spinners);
        var go = new CountDownLatch(1);
        var begin = new long[1];
        for (int i = 0; i < spinners; i++) {
            int mine = i;
            var found = new ArrayList<Quota.Stretch>(4096);
            stretches.add(found);
            threads.add(new Thread(() -> {
                ready.countDown();
                try {
                    go.await();
                } catch (InterruptedException e) {
                    return;
                }
                cpuNs[mine] = spinOne(found, begin[0], begin[0] + (long) (ms * 1e6));
            }, "spinner"));
        }
        threads.forEach(Thread::start);
        ready.await();
        // Nor this thread, which only waits: its own reading would be counted.
        var others = Tasks.of(ProcessHandle.current().pid()).without("spinner", Tasks.currentThread());
        // Once for the compiler.
        others.cpuNs();
        warmUp();
        long before = others.cpuNs();
        begin[0] = System.nanoTime();
        go.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        long wallNs = System.nanoTime() - begin[0];
        long sum = 0;
        for (long ns : cpuNs) {
            sum += ns;
        }
        return new Spun(stretches, wallNs, sum, Math.max(0, others.cpuNs() - before));
    }

    /** Until the compiler has been quiet for a while. */
    private static void warmUp() {
        CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        boolean told = compiler != null && compiler.isCompilationTimeMonitoringSupported();
        long begin = Clock.threadCpuNs();
        long spent = 0;
        long before = -1;
        long compiled = told ? compiler.getTotalCompilationTime() : 0;
        while (spent < WARM_UP_NS || (compiled != before && spent < LONGEST_WARM_UP_NS)) {
            before = compiled;
            long now = System.nanoTime();
            spinOne(new ArrayList<>(), now, now + WARM_UP_NS / 4);
            compiled = told ? compiler.getTotalCompilationTime() : 0;
            spent = Clock.threadCpuNs() - begin;
        }
    }

    private static long spinOne(List<Quota.Stretch> found, long begin, long end) {
        long cpuBefore = Clock.threadCpuNs();
        long cpu = 0;
        long last = System.nanoTime();
        long start = last;
        long charged = last;
        while (last < end) {
            long now = System.nanoTime();
            if (now - last > GAP_NS) {
                found.add(new Quota.Stretch(start - begin, last - begin, cpu));
                start = now;
                cpu = Clock.threadCpuNs() - cpuBefore;
            }
            last = now;
            if (now - charged > CHARGE_NS) {
                Clock.threadCpuNs();
                charged = now;
            }
        }
        found.add(new Quota.Stretch(start - begin, last - begin, cpu));
        return Clock.threadCpuNs() - cpuBefore;
    }
}
