package swtch.function;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** The function as a plain server: --listen 127.0.0.1:0, or for Knative on all addresses at PORT with --knative; --lines: without a server. */
public final class Server {
    /** When the runtime was up, by the monotonic clock; what follows is initialisation. */
    private static final long BEGAN_NS = System.nanoTime();
    /** More than any request needs. */
    private static final int MOST_BYTES = 1 << 20;

    private final String platform;

    private Server(String platform) {
        this.platform = platform;
    }

    public static void main(String[] arguments) {
        try {
            String listen = "127.0.0.1:0";
            String platform = "local";
            for (int i = 0; i < arguments.length; i++) {
                if (arguments[i].equals("--listen") && i + 1 < arguments.length) {
                    listen = arguments[++i];
                } else if (arguments[i].equals("--lines")) {
                    lines();
                    return;
                } else if (arguments[i].equals("--knative")) {
                    platform = "knative";
                    listen = System.getenv().getOrDefault("LISTEN_ADDRESS", "0.0.0.0:" + System.getenv().getOrDefault("PORT", "8080"));
                } else {
                    throw new IllegalArgumentException("unknown argument " + arguments[i] + "; there are --listen ADDRESS:PORT, --lines and --knative");
                }
            }
            new Server(platform).listen(address(listen));
        } catch (IllegalArgumentException | IOException e) {
            System.err.println("swtch-function: " + e.getMessage());
            System.exit(1);
        }
    }

    /**
     * A line in, a line out: what swtch faas runs, so that no HTTP is in the function's cgroup. That work is done is a line of its own before the
     * answer, which has what the work took.
     */
    private static void lines() throws IOException {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        say(output, "{\"ready\":true,\"began_ns\":" + BEGAN_NS + "}");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Reply reply = Reply.to("local", line, null, null, () -> say(output, "{\"status\":200,\"document\":{},\"more\":true}"));
            say(output, "{\"status\":" + reply.status() + ",\"document\":" + reply.json() + "}");
        }
    }

    private static void say(PrintStream output, String line) {
        output.print(line + "\n");
        output.flush();
    }

    private static InetSocketAddress address(String listen) {
        int colon = listen.lastIndexOf(':');
        Long port = Files.whole(listen.substring(colon + 1), 1);
        if (colon < 0 || port == null || port > 65535) {
            throw new IllegalArgumentException("--listen is ADDRESS:PORT, not " + listen);
        }
        return new InetSocketAddress(listen.substring(0, colon), port.intValue());
    }

    private void listen(InetSocketAddress address) throws IOException {
        HttpServer server = HttpServer.create(address, 0);
        server.createContext("/", this::handle);
        // Health is answered while a measurement runs.
        server.setExecutor(Executors.newFixedThreadPool(2));
        server.start();
        InetSocketAddress at = server.getAddress();
        System.out.printf("{\"listening\":\"%s:%d\",\"pid\":%d}%n",
                at.getAddress().getHostAddress(), at.getPort(), ProcessHandle.current().pid());
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            String path = exchange.getRequestURI().getPath();
            if (path.equals("/healthz") || path.startsWith("/health/")) {
                send(exchange, new Reply(200, "\"ok\""));
                return;
            }
            byte[] body = exchange.getRequestBody().readNBytes(MOST_BYTES + 1);
            if (!path.equals("/")) {
                send(exchange, Reply.refusal(404, "there is nothing here"));
            } else if (!exchange.getRequestMethod().equals("POST")) {
                send(exchange, Reply.refusal(405, "ask with POST"));
            } else if (body.length > MOST_BYTES) {
                send(exchange, Reply.refusal(400, "the body is larger than " + MOST_BYTES + " bytes"));
            } else {
                String query = exchange.getRequestURI().getRawQuery();
                var headers = exchange.getRequestHeaders();
                send(exchange, Reply.to(platform, new String(body, StandardCharsets.UTF_8), query, headers::getFirst));
            }
        }
    }

    private static void send(HttpExchange exchange, Reply reply) throws IOException {
        byte[] bytes = reply.json().getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(reply.status(), bytes.length);
        exchange.getResponseBody().write(bytes);
    }
}
