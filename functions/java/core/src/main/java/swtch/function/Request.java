package swtch.function;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What is asked of the function by a JSON object, a query string, or both; defaults filled in. */
public final class Request {
    private static final List<String> METHODS = List.of("pipe", "condvar", "ring");
    private static final int MOST_SPINNERS = 64;
    private static final Map<String, double[]> WHOLE = Map.of(
            "switches_per_batch", new double[] {2, 1_000_000},
            "min_batches", new double[] {1, 5000},
            "max_batches", new double[] {1, 5000},
            "ring_tasks", new double[] {2, 64},
            "spinners", new double[] {1, MOST_SPINNERS},
            "iterations", new double[] {0, 1e13});
    private static final Map<String, double[]> NUMBERS = Map.of(
            "interval", new double[] {Double.MIN_VALUE, 1},
            "time_limit_ms", new double[] {Double.MIN_VALUE, 900_000},
            "spin_ms", new double[] {0, 900_000},
            "work_ms", new double[] {0, 900_000});

    private final Map<String, Object> fields = new LinkedHashMap<>();

    private Request() {
        fields.put("methods", METHODS);
        fields.put("switches_per_batch", 200.0);
        fields.put("min_batches", 20.0);
        fields.put("max_batches", 1000.0);
        fields.put("interval", 0.01);
        fields.put("time_limit_ms", 1000.0);
        fields.put("ring_tasks", 8.0);
        fields.put("spin_ms", 1000.0);
        fields.put("spinners", (double) Math.min(Host.cpusAllowed(), MOST_SPINNERS));
        fields.put("work_ms", 0.0);
        fields.put("iterations", 0.0);
        fields.put("pin", true);
        fields.put("samples", false);
    }

    /** Both may be null or empty; the query string has no question mark. */
    public static Request parse(String body, String query) throws RequestException {
        var request = new Request();
        for (var entry : fieldsOf(body, query).entrySet()) {
            request.fields.put(entry.getKey(), read(entry.getKey(), entry.getValue()));
        }
        if (request.whole("min_batches") > request.whole("max_batches")) {
            throw new RequestException("min_batches is " + request.whole("min_batches") + ", more than max_batches, "
                    + request.whole("max_batches"));
        }
        return request;
    }

    public int whole(String name) {
        return (int) number(name);
    }

    public double number(String name) {
        return (Double) fields.get(name);
    }

    public boolean flag(String name) {
        return (Boolean) fields.get(name);
    }

    public List<String> methods() {
        return ((List<?>) fields.get("methods")).stream().map(String.class::cast).toList();
    }

    Map<String, Object> document() {
        return fields;
    }

    private static Map<String, Object> fieldsOf(String body, String query) throws RequestException {
        var given = new LinkedHashMap<String, Object>();
        if (body != null && !body.isBlank()) {
            try {
                Object document = Json.read(body);
                if (document instanceof Map<?, ?> object) {
                    object.forEach((name, value) -> given.put((String) name, value));
                } else if (document != null) {
                    throw new RequestException("the body is not a JSON object");
                }
            } catch (Json.NotJson e) {
                throw new RequestException("the body is not JSON: " + e.getMessage());
            }
        }
        for (String pair : query == null || query.isEmpty() ? new String[0] : query.split("&")) {
            String[] parts = pair.split("=", 2);
            String name = decoded(parts[0]);
            if (given.containsKey(name)) {
                throw new RequestException(shown(name) + " is given twice");
            }
            given.put(name, fromQuery(name, parts.length > 1 ? decoded(parts[1]) : ""));
        }
        return given;
    }

    private static String decoded(String text) throws RequestException {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw new RequestException("the query string cannot be read");
        }
    }

    /** Values as JSON would have them. */
    private static Object fromQuery(String name, String text) {
        if (name.equals("methods")) {
            var methods = new ArrayList<Object>(List.of(text.split(",")));
            methods.remove("");
            return methods;
        }
        if (text.equals("true") || text.equals("false")) {
            return Boolean.valueOf(text);
        }
        try {
            return Double.valueOf(text);
        } catch (NumberFormatException e) {
            return text;
        }
    }

    private static Object read(String name, Object value) throws RequestException {
        if (name.equals("methods")) {
            return methods(value);
        }
        if (name.equals("pin") || name.equals("samples")) {
            if (value instanceof Boolean) {
                return value;
            }
            throw new RequestException(name + " is neither true nor false");
        }
        if (!WHOLE.containsKey(name) && !NUMBERS.containsKey(name)) {
            throw new RequestException("unknown name " + shown(name));
        }
        boolean whole = WHOLE.containsKey(name);
        double[] range = whole ? WHOLE.get(name) : NUMBERS.get(name);
        if (value instanceof Double number
                && number >= range[0]
                && number <= range[1]
                && (!whole || number == Math.rint(number))) {
            return number;
        }
        String from = range[0] == Double.MIN_VALUE ? " above 0 and up to " : " from " + (long) range[0] + " to ";
        throw new RequestException(name + " is not a " + (whole ? "whole " : "") + "number" + from + (long) range[1]);
    }

    private static List<String> methods(Object value) throws RequestException {
        if (!(value instanceof List<?> list)) {
            throw new RequestException("methods is not a list");
        }
        var methods = new ArrayList<String>();
        for (Object item : list) {
            if (!(item instanceof String method) || !METHODS.contains(method)) {
                throw new RequestException(
                        "no method " + shown(String.valueOf(item)) + " in Java; there are " + String.join(", ", METHODS));
            }
            if (methods.contains(method)) {
                throw new RequestException("methods has " + method + " twice");
            }
            methods.add(method);
        }
        return methods;
    }

    /** In one line, and not longer than a line should be. */
    private static String shown(String text) {
        return Json.write(text.length() > 60 ? text.substring(0, 60) + "..." : text);
    }
}
