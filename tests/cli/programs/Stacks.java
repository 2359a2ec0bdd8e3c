// Sleeps 300 times in `culprit`, and a tenth as often in `minor`.
import java.util.concurrent.locks.LockSupport;

class Stacks {
    static void culprit() {
        LockSupport.parkNanos(200_000);
    }

    static void minor() {
        LockSupport.parkNanos(300_000);
    }

    public static void main(String[] words) {
        for (int i = 0; i < 300; i++) {
            culprit();
            if (i % 10 == 0) {
                minor();
            }
        }
    }
}
