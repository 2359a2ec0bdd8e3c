package swtch.function;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class MedianTest {
    @Test
    void theMedianAndHowWellItIsKnown() {
        assertEquals(2.5, Median.of(new long[] {4, 1, 3, 2}));
        long[] steady = LongStream.range(1000, 1020).toArray();
        assertTrue(Median.narrow(steady, 0.01));
        assertFalse(Median.narrow(steady, 0.001));
        assertFalse(Median.narrow(LongStream.range(0, 5).toArray(), 0.5));
    }
}
