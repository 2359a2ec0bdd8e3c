package swtch.function;

import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;

/** Keeps processes or threads busy, each reading the clock. */
final class Spinner {
    /** A jump of the clock beyond this is a gap: interrupts are shorter. */
    static final long GAP_NS = 200_000;
    /** How often the kernel is made to charge the running time. */
    static final long CHARGE_NS = 100_000;
    /** Intervals of all spinners; with more of them spinning ends early. */
    static final int MOST_INTERVALS = 20_000;

    private Spinner() {}

    /** Spinning before it counts, in CPU time: compiling it would be charged to the quota too. */
    private static final long WARM_UP_NS = 20_000_000;
    private static final long LONGEST_WARM_UP_NS = 100_000_000;

    /** CPU time is of the spinners; which part of a CPU the others of this process had meanwhile; and from what this is. */
    record Spun(List<List<Interval>> threads, long wallNs, long cpuNs, double othersCpus, String from) {
        /** With what further threads had, CPUs on average. */
        Spun withOthers(double cpus) {
            return new Spun(threads, wallNs, cpuNs, othersCpus + cpus, from);
        }

        private Spun described(String what, String without) {
            String told = String.format(Locale.ROOT, "gaps of %d spinning %s over %.2f s", threads.size(), what, wallNs / 1e9);
            return new Spun(threads, wallNs, cpuNs, othersCpus, without == null ? told : told + "; " + without);
        }
    }

    /** Processes, or threads of this one where there can be none. */
    static Spun spin(int spinners, double ms, boolean pinned) throws InterruptedException {
        String without = null;
        if (pinned) {
            try {
                return SpinProcesses.spin(spinners, ms, true).described("processes", null);
            } catch (IOException e) {
                without = "not pinned: " + line(e);
            }
        }
        try {
            return SpinProcesses.spin(spinners, ms, false).described("processes", without);
        } catch (IOException e) {
            return spinThreads(spinners, ms).described("threads", "no processes: " + line(e));
        }
    }

    private static String line(IOException e) {
        return String.valueOf(e.getMessage()).split("\n", 2)[0];
    }

    /** What other threads had, from the first gap after a third of the time to the end: before, the compiler may still be busy. */
    private static final class Others {
        private final Tasks tasks;
        private final long from;
        private long beginNs = -1;
        private long cpuNs;
        private double cpus;

        Others(Tasks tasks, long begin, long end) {
            this.tasks = tasks;
            from = begin + (end - begin) / 3;
        }

        /** Whether it was read just now: the caller must read its clocks again. */
        boolean begin(long now) {
            if (beginNs >= 0 || now < from) {
                return false;
            }
            cpuNs = tasks.cpuNs();
            beginNs = now;
            return true;
        }

        void end(long now) {
            if (beginNs >= 0 && now > beginNs) {
                cpus = (double) Math.max(0, tasks.cpuNs() - cpuNs) / (now - beginNs);
            }
        }
    }

    private static Spun spinThreads(int spinners, double ms) throws InterruptedException {
        var intervals = new ArrayList<List<Interval>>();
        var cpuNs = new long[spinners];
        var threads = new ArrayList<Thread>();
        var ready = new CountDownLatch(spinners);
        var go = new CountDownLatch(1);
        var begin = new long[1];
        var others = new Others[1];
        for (int i = 0; i < spinners; i++) {
            int mine = i;
            var found = new ArrayList<Interval>(4096);
            intervals.add(found);
            threads.add(new Thread(() -> {
                ready.countDown();
                try {
                    go.await();
                } catch (InterruptedException e) {
                    return;
                }
                // One of them keeps the accounts; its own CPU time includes that.
                cpuNs[mine] = spinOne(found, mine == 0 ? others[0] : null, begin[0], begin[0] + (long) (ms * 1e6), MOST_INTERVALS / spinners);
            }, "spinner"));
        }
        threads.forEach(Thread::start);
        ready.await();
        // Nor this thread, which only waits.
        var tasks = Tasks.of(ProcessHandle.current().pid()).regular("spinner", Tasks.currentThread());
        // Once for the compiler.
        tasks.cpuNs();
        warmUp();
        begin[0] = System.nanoTime();
        others[0] = new Others(tasks, begin[0], begin[0] + (long) (ms * 1e6));
        go.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        long wallNs = System.nanoTime() - begin[0];
        long sum = 0;
        for (long ns : cpuNs) {
            sum += ns;
        }
        return new Spun(intervals, wallNs, sum, others[0].cpus, "");
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
            spinOne(new ArrayList<>(), null, now, now + WARM_UP_NS / 4, MOST_INTERVALS);
            compiled = told ? compiler.getTotalCompilationTime() : 0;
            spent = Clock.threadCpuNs() - begin;
        }
    }

    /** Its CPU time; others may be null. */
    static long spinOne(List<Interval> found, Others others, long begin, long end, int most) {
        while (System.nanoTime() < begin) {
            // Others begin then too.
        }
        long cpuBefore = Clock.threadCpuNs();
        long cpu = cpuBefore;
        long last = System.nanoTime();
        long start = last;
        long charged = last;
        while (last < end && found.size() < most) {
            long now = System.nanoTime();
            if (now - last > GAP_NS) {
                long before = cpu;
                cpu = Clock.threadCpuNs();
                found.add(new Interval(start - begin, last - begin, cpu - before));
                start = now;
                if (others != null && others.begin(now)) {
                    now = System.nanoTime();
                }
            }
            last = now;
            if (now - charged > CHARGE_NS) {
                Clock.threadCpuNs();
                charged = now;
            }
        }
        long total = Clock.threadCpuNs();
        found.add(new Interval(start - begin, last - begin, total - cpu));
        if (others != null) {
            others.end(last);
        }
        return total - cpuBefore;
    }
}
