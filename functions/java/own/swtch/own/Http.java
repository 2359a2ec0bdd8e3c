package swtch.own;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** {@code Http CLASS::METHOD}: a user's own function over HTTP, at {@code LISTEN_ADDRESS} or on all addresses at {@code PORT}, as platforms start an image. */
public final class Http {
    private static final int THREADS = 8;

    private Http() {}

    public static void main(String[] arguments) throws IOException {
        try {
            var function = new OwnFunction(arguments[0]);
            String listen = System.getenv().getOrDefault("LISTEN_ADDRESS", "0.0.0.0:" + System.getenv().getOrDefault("PORT", "8080"));
            int colon = listen.lastIndexOf(':');
            var address = new InetSocketAddress(listen.substring(0, colon), Integer.parseInt(listen.substring(colon + 1)));
            HttpServer server = HttpServer.create(address, 0);
            server.createContext("/", exchange -> handle(function, exchange));
            server.setExecutor(Executors.newFixedThreadPool(THREADS));
            server.start();
        } catch (OwnFunction.NoFunction e) {
            System.err.println("swtch-function: " + e.getMessage());
            System.exit(1);
        }
    }

    private static void handle(OwnFunction function, HttpExchange exchange) throws IOException {
        try (exchange) {
            int status = 200;
            String answer;
            try {
                String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
                String path = exchange.getRequestURI().getPath();
                // OpenFaaS asks at /_/health and /_/ready.
                boolean isProbe = path.startsWith("/health/") || path.startsWith("/_/");
                answer = isProbe ? "\"ok\"" : function.call(body.isBlank() ? "{}" : body);
            } catch (Throwable e) {
                status = 500;
                answer = OwnFunction.failure(e);
            }
            byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }
}
