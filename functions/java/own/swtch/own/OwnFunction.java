package swtch.own;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import swtch.function.Json;

/**
 * A user's own function, {@code Class::method}. It takes an event as a map, a list, a text, a number or bytes, or streams as Lambda has them; other
 * parameters, such as a platform's context, are null. A method that is not static is called on an instance made once.
 */
public final class OwnFunction {
    private final Method method;
    private final Object instance;

    /** A name that names no function; the message is one line. */
    public static final class NoFunction extends Exception {
        private static final long serialVersionUID = 1;

        NoFunction(String why) {
            super(why);
        }
    }

    public OwnFunction(String name) throws NoFunction {
        String[] parts = name.split("::", 2);
        if (parts.length < 2 || parts[0].isEmpty() || parts[1].isEmpty()) {
            throw new NoFunction("'" + name + "' is not Class::method");
        }
        try {
            Class<?> type = Class.forName(parts[0]);
            // Of overloads, and of bridges that the compiler makes for generic interfaces, the one with the plainest event.
            method = Arrays.stream(type.getMethods())
                    .filter(one -> one.getName().equals(parts[1]) && !one.isBridge())
                    .max(Comparator.comparingInt(OwnFunction::rank))
                    .orElseThrow(() -> new NoFunction(parts[0] + " has no public method " + parts[1]));
            method.setAccessible(true);
            instance = Modifier.isStatic(method.getModifiers()) ? null : type.getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException e) {
            throw new NoFunction("there is no class " + parts[0] + " on the class path; compile it, or set CLASSPATH");
        } catch (ReflectiveOperationException | LinkageError e) {
            throw new NoFunction(parts[0] + " cannot be made: " + oneLine(e.getCause() == null ? e : e.getCause()));
        }
        if (rank(method) < 0) {
            throw new NoFunction(name + " takes " + Arrays.toString(method.getParameterTypes())
                    + "; an event is a Map, List, String, number, Object, byte[] or an InputStream");
        }
    }

    private static int rank(Method method) {
        Class<?>[] types = method.getParameterTypes();
        return types.length == 0 || takes(types[0]) ? 10 - types.length : -1;
    }

    private static boolean takes(Class<?> type) {
        return type.isAssignableFrom(Map.class) || type.isAssignableFrom(List.class) || type == String.class || type == InputStream.class
                || type == byte[].class || type == Double.class || type == double.class;
    }

    /** The result in JSON, of an event in JSON. What the function throws passes through. */
    public String call(String event) throws Throwable {
        var output = new ByteArrayOutputStream();
        Class<?>[] types = method.getParameterTypes();
        var values = new ArrayList<Object>();
        for (Class<?> type : types) {
            values.add(values.isEmpty() ? argument(type, event) : type == OutputStream.class ? output : null);
        }
        try {
            Object result = method.invoke(instance, values.toArray());
            if (Arrays.asList(types).contains(OutputStream.class)) {
                String said = output.toString(StandardCharsets.UTF_8);
                return said.isBlank() ? "null" : Json.write(Json.read(said));
            }
            boolean known = result == null || result instanceof Map || result instanceof Iterable || result instanceof String
                    || result instanceof Number || result instanceof Boolean;
            if (!known) {
                throw new IllegalStateException("the function returned " + result.getClass().getName() + ", which is not JSON");
            }
            return Json.write(result);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static Object argument(Class<?> type, String event) throws Json.NotJson {
        if (type == InputStream.class) {
            return new ByteArrayInputStream(event.getBytes(StandardCharsets.UTF_8));
        }
        if (type == byte[].class) {
            return event.getBytes(StandardCharsets.UTF_8);
        }
        Object value = event.isBlank() ? null : Json.read(event);
        return type == String.class && !(value instanceof String) ? event : value;
    }

    /** An answer that says what went wrong, and the function's own innermost line. */
    static String failure(Throwable error) {
        String where = Arrays.stream(error.getStackTrace())
                .filter(one -> !one.getClassName().matches("(java|jdk|sun|swtch)\\..*"))
                .map(one -> one.getFileName() + ":" + one.getLineNumber()).findFirst().orElse(null);
        var document = new java.util.LinkedHashMap<String, Object>();
        document.put("schema", "swtch/faas-error/1");
        document.put("error", error instanceof NoFunction ? error.getMessage() : oneLine(error));
        if (where != null) {
            document.put("where", where);
        }
        return Json.write(document);
    }

    private static String oneLine(Throwable error) {
        String said = error.getMessage() == null ? "" : ": " + error.getMessage().lines().findFirst().orElse("");
        return error.getClass().getSimpleName() + said;
    }
}
