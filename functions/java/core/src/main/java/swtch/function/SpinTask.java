package swtch.function;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** A spinner in a process of its own: reports that it has started, waits for the time to spin, and reports what it saw. */
public final class SpinTask {
    /** What it says first. */
    static final int READY = 1;

    private SpinTask() {}

    public static void main(String[] arguments) throws IOException {
        // Without the buffers and locks of System.in and System.out.
        var in = new FileInputStream(FileDescriptor.in);
        var out = new FileOutputStream(FileDescriptor.out);
        // Calls load and link the code beforehand.
        Spinner.spinOne(new ArrayList<>(), null, System.nanoTime(), System.nanoTime() + 4 * Spinner.CHARGE_NS, Spinner.MOST_INTERVALS);
        out.write(READY);
        // The CPU time of its other threads can be read until its input ends, which ends it.
        var times = new byte[3 * Long.BYTES];
        while (in.readNBytes(times, 0, times.length) == times.length) {
            var told = ByteBuffer.wrap(times);
            spin(told.getLong(), told.getLong(), (int) told.getLong(), out);
        }
    }

    private static void spin(long begin, long end, int most, FileOutputStream out) throws IOException {
        var intervals = new ArrayList<Interval>(4096);
        long cpuNs = Spinner.spinOne(intervals, null, begin, end, most);
        var bytes = new ByteArrayOutputStream();
        write(new DataOutputStream(bytes), intervals, cpuNs);
        out.write(bytes.toByteArray());
    }

    private static void write(DataOutputStream out, List<Interval> intervals, long cpuNs) throws IOException {
        out.writeLong(cpuNs);
        out.writeInt(intervals.size());
        for (Interval interval : intervals) {
            out.writeLong(interval.startNs());
            out.writeLong(interval.endNs());
            out.writeLong(interval.cpuNs());
        }
    }

    /** The CPU time, and what there was of intervals. */
    static long read(DataInputStream in, List<Interval> intervals) throws IOException {
        long cpuNs = in.readLong();
        for (int left = in.readInt(); left > 0; left--) {
            intervals.add(new Interval(in.readLong(), in.readLong(), in.readLong()));
        }
        return cpuNs;
    }
}
