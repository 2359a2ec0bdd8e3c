package swtch.function.serve;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsServer;
import com.sun.net.httpserver.spi.HttpServerProvider;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * The JDK's HTTP servers on loopback at the port of the property {@code swtch.port}, whatever address is asked for. OpenFaaS's entry point
 * asks for all of them, at a port of its own.
 */
public final class Loopback extends HttpServerProvider {
    private final HttpServerProvider provider;

    /** Made by {@link HttpServerProvider#provider}, by the name of this class in a property. */
    public Loopback() throws ReflectiveOperationException {
        // The JDK's own, which its module exports only with an option.
        var own = Class.forName("sun.net.httpserver.DefaultHttpServerProvider");
        provider = (HttpServerProvider) own.getConstructor().newInstance();
    }

    @Override
    public HttpServer createHttpServer(InetSocketAddress address, int backlog) throws IOException {
        return provider.createHttpServer(loopback(), backlog);
    }

    @Override
    public HttpsServer createHttpsServer(InetSocketAddress address, int backlog) throws IOException {
        return provider.createHttpsServer(loopback(), backlog);
    }

    private static InetSocketAddress loopback() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.getInteger("swtch.port"));
    }
}
