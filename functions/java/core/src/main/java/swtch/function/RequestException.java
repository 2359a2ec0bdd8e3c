package swtch.function;

/** A request that cannot be understood; the message is one line. */
public final class RequestException extends Exception {
    private static final long serialVersionUID = 1;

    RequestException(String why) {
        super(why);
    }
}
