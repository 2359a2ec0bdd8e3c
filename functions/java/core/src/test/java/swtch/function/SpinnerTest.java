package swtch.function;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SpinnerTest {
    private static final double MS = 50;

    private static void check(Spinner.Spun spun, int spinners, String from) {
        assertEquals(spinners, spun.threads().size());
        assertTrue(spun.cpuNs() > 0 && spun.wallNs() >= MS * 1e6, spun.cpuNs() + " of " + spun.wallNs() + " ns");
        assertTrue(spun.from().matches(from), spun.from());
        for (var intervals : spun.threads()) {
            long reached = 0;
            for (Interval interval : intervals) {
                assertTrue(reached <= interval.startNs() && interval.startNs() <= interval.endNs(), interval.toString());
                reached = interval.endNs();
            }
        }
    }

    @Test
    void processesSpin() throws Exception {
        check(Spinner.spin(2, MS, false), 2, "gaps of 2 spinning processes over 0\\.\\d\\d s");
    }

    @Test
    void whereThereCanBeNoProcessesThreadsSpin() throws Exception {
        String home = System.setProperty("java.home", "/nowhere");
        try {
            String from = "gaps of 1 spinning threads over 0\\.\\d\\d s; no processes: .*/nowhere/bin/java.*";
            check(Spinner.spin(1, MS, false), 1, from);
        } finally {
            System.setProperty("java.home", home);
        }
    }
}
