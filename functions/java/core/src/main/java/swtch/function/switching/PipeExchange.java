package swtch.function.switching;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;

/** Each waits in a read for the other's byte. */
final class PipeExchange extends Pair {
    private final Pipe there = Pipe.open();
    private final Pipe back = Pipe.open();
    private final Pipe alone = Pipe.open();
    private final ByteBuffer token = ByteBuffer.allocateDirect(1);

    PipeExchange(int switches) throws IOException, InterruptedException {
        super(switches);
        start(this::answer);
    }

    private void answer() {
        var received = ByteBuffer.allocateDirect(1);
        try {
            while (there.source().read(received.clear()) == 1) {
                back.sink().write(received.flip());
            }
        } catch (IOException e) {
            // The other has closed: its own read says so.
        }
    }

    @Override
    public String baseline() {
        return "one task, one pipe";
    }

    @Override
    public void gross() throws IOException {
        exchange(trips(), there, back);
    }

    @Override
    public void around() throws IOException {
        exchange(2 * trips(), alone, alone);
    }

    private void exchange(int times, Pipe to, Pipe from) throws IOException {
        for (int i = 0; i < times; i++) {
            to.sink().write(token.rewind());
            if (from.source().read(token.rewind()) != 1) {
                throw new IOException("the other task has ended");
            }
        }
    }

    @Override
    public void close() throws IOException, InterruptedException {
        there.sink().close();
        join();
        for (Pipe pipe : new Pipe[] {there, back, alone}) {
            pipe.sink().close();
            pipe.source().close();
        }
    }
}
