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

/** A spinner in a process of its own: says that it is there, is told when to spin, and tells what it saw. */
public final class SpinTask {
    /** What it says first. */
    static final int READY = 1;

    private SpinTask() {}

    public static void main(String[] arguments) throws IOException {
        // Without the buffers and locks of System.in and System.out.
        var in = new FileInputStream(FileDescriptor.in);
        var out = new FileOutputStream(FileDescriptor.out);
        // What is called first is loaded and linked first.
        Spinner.spinOne(new ArrayList<>(), null, System.nanoTime(), System.nanoTime() + 4 * Spinner.CHARGE_NS);
        out.write(READY);
        // What its other threads used can be read until it is told to end, by the end of what it is told.
        var times = new byte[2 * Long.BYTES];
        while (in.readNBytes(times, 0, times.length) == times.length) {
            var told = ByteBuffer.wrap(times);
            spin(told.getLong(), told.getLong(), out);
        }
    }

    private static void spin(long begin, long end, FileOutputStream out) throws IOException {
        var stretches = new ArrayList<Quota.Stretch>(4096);
        long cpuNs = Spinner.spinOne(stretches, null, begin, end);
        var bytes = new ByteArrayOutputStream();
        write(new DataOutputStream(bytes), stretches, cpuNs);
        out.write(bytes.toByteArray());
    }

    private static void write(DataOutputStream out, List<Quota.Stretch> stretches, long cpuNs) throws IOException {
        out.writeLong(cpuNs);
        out.writeInt(stretches.size());
        for (Quota.Stretch stretch : stretches) {
            out.writeLong(stretch.startNs());
            out.writeLong(stretch.endNs());
            out.writeLong(stretch.cpuNs());
        }
    }

    /** The CPU time, and what there was of stretches. */
    static long read(DataInputStream in, List<Quota.Stretch> stretches) throws IOException {
        long cpuNs = in.readLong();
        for (int left = in.readInt(); left > 0; left--) {
            stretches.add(new Quota.Stretch(in.readLong(), in.readLong(), in.readLong()));
        }
        return cpuNs;
    }
}
