package swtch.function.switching;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/** A task of the ring, in a process of its own: adds its process id to the token, until the ring is closed. */
public final class RingTask {
    private RingTask() {}

    public static void main(String[] arguments) throws IOException {
        // Without the buffers and locks of System.in and System.out.
        var before = new FileInputStream(FileDescriptor.in);
        var next = new FileOutputStream(FileDescriptor.out);
        long own = ProcessHandle.current().pid();
        byte[] token = new byte[Long.BYTES];
        var sum = ByteBuffer.wrap(token);
        while (before.read(token) == Long.BYTES) {
            sum.putLong(0, sum.getLong(0) + own);
            next.write(token);
        }
    }
}
