package swtch.function.gcf;

import com.google.cloud.functions.HttpFunction;
import com.google.cloud.functions.HttpRequest;
import com.google.cloud.functions.HttpResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import swtch.function.Reply;

/** Google Cloud Functions. */
public final class Handler implements HttpFunction {
    @Override
    public void service(HttpRequest request, HttpResponse response) throws IOException {
        String body = new String(request.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Reply reply = Reply.to("gcf", body, request.getQuery().orElse(null), name -> request.getFirstHeader(name).orElse(null));
        response.setStatusCode(reply.status());
        response.setContentType("application/json");
        response.getWriter().write(reply.json());
    }
}
