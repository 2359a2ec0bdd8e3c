package swtch.function.switching;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import swtch.function.Tasks;

/** Two threads of this process: the caller's, and one that answers. */
abstract class Pair implements Exchange {
    private final Long mine = Tasks.currentThread();
    private final int trips;
    private Long partner;
    private Thread thread;

    Pair(int switches) {
        trips = (switches + 1) / 2;
    }

    /** Begins to answer on a thread of its own. */
    void start(Runnable answer) throws InterruptedException {
        var there = new CountDownLatch(1);
        thread = new Thread(() -> {
            partner = Tasks.currentThread();
            there.countDown();
            answer.run();
        }, "partner");
        thread.setDaemon(true);
        thread.start();
        there.await();
    }

    void join() throws InterruptedException {
        thread.join();
    }

    int trips() {
        return trips;
    }

    @Override
    public String tasks() {
        return "threads";
    }

    @Override
    public int taskCount() {
        return 2;
    }

    @Override
    public int switches() {
        return 2 * trips;
    }

    @Override
    public List<Long> others() {
        return partner == null ? List.of() : List.of(partner);
    }

    @Override
    public Tasks.Counts counts() {
        if (mine == null || partner == null) {
            return null;
        }
        Path tasks = Path.of("/proc/self/task");
        return new Tasks(List.of(tasks.resolve(mine.toString()), tasks.resolve(partner.toString()))).switches();
    }
}
