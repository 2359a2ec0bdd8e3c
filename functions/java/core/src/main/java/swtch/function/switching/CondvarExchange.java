package swtch.function.switching;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Each waits on a condition for its turn. */
final class CondvarExchange extends Pair {
    private static final int OVER = -1;

    private final Turns turns = new Turns();
    private final Turns alone = new Turns();

    /** A flag that threads take turns by. */
    private static final class Turns {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();
        private int whose;

        boolean take(int mine, int next) {
            lock.lock();
            try {
                while (whose != mine && whose != OVER) {
                    changed.awaitUninterruptibly();
                }
                boolean goesOn = whose != OVER;
                whose = goesOn ? next : OVER;
                changed.signal();
                return goesOn;
            } finally {
                lock.unlock();
            }
        }
    }

    CondvarExchange(int switches) throws InterruptedException {
        super(switches);
        start(() -> {
            while (turns.take(1, 0)) {}
        });
    }

    @Override
    public String baseline() {
        return "one task: lock, signal, unlock";
    }

    @Override
    public void gross() {
        for (int i = 0; i < trips(); i++) {
            turns.take(0, 1);
        }
        // The other's answer to the last, so that the batch is whole.
        turns.take(0, 0);
    }

    @Override
    public void around() {
        for (int i = 0; i < 2 * trips(); i++) {
            alone.take(0, 0);
        }
    }

    @Override
    public void close() throws InterruptedException {
        turns.take(0, OVER);
        join();
    }
}
