package swtch.function.serve;

import com.google.cloud.functions.invoker.runner.Invoker;
import java.util.Optional;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Google's framework for Java on loopback: it has no option for an address, and listens on all of them.
 *
 * <p>It is started as usual, at an unannounced port, and again at the address and port that are wanted.
 */
public final class GoogleFramework {
    private GoogleFramework() {}

    /** Arguments: class path, target, port. */
    public static void main(String[] arguments) throws Exception {
        var make = Invoker.class.getDeclaredMethod("makeInvoker", String[].class);
        make.setAccessible(true);
        String[] options = {"--classpath", arguments[0], "--target", arguments[1], "--port", "0"};
        var invoker = (Invoker) ((Optional<?>) make.invoke(null, (Object) options)).orElseThrow();
        invoker.startTestServer();
        var field = Invoker.class.getDeclaredField("server");
        field.setAccessible(true);
        var server = (Server) field.get(invoker);
        server.stop();
        var connector = (ServerConnector) server.getConnectors()[0];
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(arguments[2]));
        server.start();
        server.join();
    }
}
