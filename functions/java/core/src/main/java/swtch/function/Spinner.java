package swtch.function;

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

    /** Shorter gaps are not worth the time that reading the CPU time of all threads takes. */
    private static final long LONG_GAP_NS = 1_000_000;

    /** CPU time is of the spinning threads. */
    record Spun(List<List<Quota.Stretch>> threads, long wallNs, long cpuNs) {}

    static Spun spin(int spinners, double ms) throws InterruptedException {
        var stretches = new ArrayList<List<Quota.Stretch>>();
        var cpuNs = new long[spinners];
        var threads = new ArrayList<Thread>();
        var ready = new CountDownLatch(spinners);
        var go = new CountDownLatch(1);
        var begin = new long[1];
        var all = new Tasks[1];
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
                // One of them keeps the accounts.
                cpuNs[mine] = spinOne(found, mine == 0 ? all[0] : null, begin[0], begin[0] + (long) (ms * 1e6));
            }, "spinner"));
        }
        threads.forEach(Thread::start);
        ready.await();
        all[0] = Tasks.of(ProcessHandle.current().pid());
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
        return new Spun(stretches, wallNs, sum);
    }

    private static long spinOne(List<Quota.Stretch> found, Tasks all, long begin, long end) {
        long cpuBefore = Clock.threadCpuNs();
        long cpu = -1;
        long last = System.nanoTime();
        long start = last;
        long charged = last;
        while (last < end) {
            long now = System.nanoTime();
            if (now - last > GAP_NS) {
                found.add(new Quota.Stretch(start - begin, last - begin, cpu));
                start = now;
                cpu = all != null && now - last > LONG_GAP_NS ? charged(all) : -1;
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

    /** Of the whole process, the caller's own brought up to date. */
    private static long charged(Tasks all) {
        Clock.threadCpuNs();
        return all.cpuNs();
    }
}
