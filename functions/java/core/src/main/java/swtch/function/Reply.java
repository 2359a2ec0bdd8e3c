package swtch.function;

import java.util.Map;

/** The answer to a request over HTTP, whatever carries it. */
public record Reply(int status, String json) {
    /** Where platforms put the name of an invocation. */
    private static final Map<String, String> ID_HEADERS =
            Map.of("gcf", "Function-Execution-Id", "knative", "Ce-Id", "openfaas", "X-Call-Id");

    /** A header of a request by its name, or null. */
    public interface Headers {
        String get(String name);
    }

    /** Body and query string may be null. */
    public static Reply to(String platform, String body, String query, Headers headers) {
        String header = ID_HEADERS.get(platform);
        return to(platform, body, query, header == null ? null : headers.get(header));
    }

    /** The same with the invocation's name, or null. */
    public static Reply to(String platform, String body, String query, String id) {
        return to(platform, body, query, id, () -> {});
    }

    /** The same; {@code worked} is run when work that was asked for is done. */
    static Reply to(String platform, String body, String query, String id, Runnable worked) {
        try {
            return new Reply(200, Json.write(Answer.to(Request.parse(body, query), platform, id, worked)));
        } catch (RequestException e) {
            return refusal(400, e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return refusal(500, "interrupted");
        } catch (RuntimeException e) {
            return refusal(500, e.toString().split("\n", 2)[0]);
        }
    }

    static Reply refusal(int status, String why) {
        return new Reply(status, Json.write(Map.of("schema", "swtch/faas-error/1", "error", why)));
    }
}
