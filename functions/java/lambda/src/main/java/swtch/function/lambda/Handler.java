package swtch.function.lambda;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import swtch.function.Answer;
import swtch.function.Json;
import swtch.function.Reply;
import swtch.function.Request;
import swtch.function.RequestException;

/** AWS Lambda: the event is the request itself, or what a function URL or an API gateway makes of one over HTTP. */
public final class Handler implements RequestStreamHandler {
    private static final String PLATFORM = "lambda";

    @Override
    public void handleRequest(InputStream input, OutputStream output, Context context) throws IOException {
        String event = new String(input.readAllBytes(), StandardCharsets.UTF_8);
        output.write(answer(event, context.getAwsRequestId()).getBytes(StandardCharsets.UTF_8));
    }

    private static String answer(String event, String id) {
        try {
            if (Json.read(event) instanceof Map<?, ?> fields && fields.get("requestContext") != null) {
                return overHttp(fields, id);
            }
            return Json.write(Answer.to(Request.parse(event, null), PLATFORM, id));
        } catch (RequestException | Json.NotJson e) {
            // The platform makes an error of it, with this line as its message.
            throw new IllegalArgumentException(e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private static String overHttp(Map<?, ?> event, String id) {
        Reply reply = Reply.to(PLATFORM, body(event), (String) event.get("rawQueryString"), id);
        var response = new LinkedHashMap<String, Object>();
        response.put("statusCode", reply.status());
        response.put("headers", Map.of("content-type", "application/json"));
        response.put("body", reply.json());
        return Json.write(response);
    }

    private static String body(Map<?, ?> event) {
        String body = (String) event.get("body");
        boolean encoded = body != null && Boolean.TRUE.equals(event.get("isBase64Encoded"));
        return encoded ? new String(Base64.getDecoder().decode(body), StandardCharsets.UTF_8) : body;
    }
}
