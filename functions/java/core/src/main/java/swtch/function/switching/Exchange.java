package swtch.function.switching;

import java.util.List;
import java.util.Map;
import swtch.function.Tasks;

/** Tasks that hand the CPU to each other. The first is the caller's thread. */
interface Exchange extends AutoCloseable {
    /** Kind of tasks: threads or processes. */
    String tasks();

    int taskCount();

    /** What the baseline does, in words. */
    String baseline();

    /** In a batch: whole round trips or laps. */
    int switches();

    /** A batch of switches. */
    void gross() throws Exception;

    /** The same without any switch. */
    void around() throws Exception;

    /** The kernel's threads of the other tasks, to be pinned beside the caller's. */
    List<Long> others();

    /** Null where the kernel does not say. */
    Tasks.Counts counts();

    /** Whether counting takes longer than a batch: then it is done once, baselines included, which do not switch. */
    default boolean countingIsSlow() {
        return false;
    }

    /** That a token passed through every task; null where there is none. */
    default Map<String, Object> check() {
        return null;
    }

    @Override
    void close() throws Exception;
}
