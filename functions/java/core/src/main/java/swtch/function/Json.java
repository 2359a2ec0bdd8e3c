package swtch.function;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, texts, numbers (always Double when read), booleans and null. */
public final class Json {
    private static final int DEEPEST = 64;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** A text that is not JSON. */
    public static final class NotJson extends Exception {
        private static final long serialVersionUID = 1;

        NotJson(String why) {
            super(why);
        }
    }

    public static Object read(String text) throws NotJson {
        var json = new Json(text);
        Object value = json.value(0);
        if (json.next() != 0) {
            throw new NotJson("something follows at " + json.at);
        }
        return value;
    }

    private Object value(int depth) throws NotJson {
        if (depth > DEEPEST) {
            throw new NotJson("deeper than " + DEEPEST);
        }
        return switch (next()) {
            case '{' -> object(depth);
            case '[' -> list(depth);
            case '"' -> string();
            case 't' -> word("true", Boolean.TRUE);
            case 'f' -> word("false", Boolean.FALSE);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    /** The next character that is not a space, not taken; 0 at the end. */
    private char next() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private boolean take(char wanted) {
        boolean is = next() == wanted;
        at += is ? 1 : 0;
        return is;
    }

    private void expect(char wanted) throws NotJson {
        if (!take(wanted)) {
            throw new NotJson("no '" + wanted + "' at " + at);
        }
    }

    private Map<String, Object> object(int depth) throws NotJson {
        var object = new LinkedHashMap<String, Object>();
        expect('{');
        if (take('}')) {
            return object;
        }
        do {
            next();
            String name = string();
            expect(':');
            object.put(name, value(depth + 1));
        } while (take(','));
        expect('}');
        return object;
    }

    private List<Object> list(int depth) throws NotJson {
        var list = new ArrayList<>();
        expect('[');
        if (take(']')) {
            return list;
        }
        do {
            list.add(value(depth + 1));
        } while (take(','));
        expect(']');
        return list;
    }

    private Object word(String word, Object value) throws NotJson {
        if (!text.startsWith(word, at)) {
            throw new NotJson("no value at " + at);
        }
        at += word.length();
        return value;
    }

    private Double number() throws NotJson {
        int from = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String digits = text.substring(from, at);
        if (!digits.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")) {
            throw new NotJson("no value at " + from);
        }
        return Double.valueOf(digits);
    }

    private String string() throws NotJson {
        expect('"');
        var found = new StringBuilder();
        while (at < text.length() && text.charAt(at) != '"') {
            char c = text.charAt(at++);
            if (c < ' ') {
                throw new NotJson("a control character at " + (at - 1));
            }
            found.append(c == '\\' ? escaped() : c);
        }
        at++;
        if (at > text.length()) {
            throw new NotJson("a text without an end");
        }
        return found.toString();
    }

    private char escaped() throws NotJson {
        int place = at < text.length() ? "\"\\/bfnrtu".indexOf(text.charAt(at++)) : -1;
        if (place < 0) {
            throw new NotJson("an unknown escape at " + at);
        }
        if (place < 8) {
            return "\"\\/\b\f\n\r\t".charAt(place);
        }
        try {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 4, at), 16);
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            throw new NotJson("an escape without four digits");
        }
    }

    public static String write(Object value) {
        var out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof String text) {
            quote(text, out);
        } else if (value instanceof Map<?, ?> object) {
            String before = "{";
            for (var entry : object.entrySet()) {
                out.append(before);
                quote((String) entry.getKey(), out);
                out.append(':');
                write(entry.getValue(), out);
                before = ",";
            }
            out.append(object.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> list) {
            String before = "[";
            for (Object item : list) {
                out.append(before);
                write(item, out);
                before = ",";
            }
            out.append(before.equals("[") ? "[]" : "]");
        } else if (value instanceof Double number) {
            boolean whole = number == Math.rint(number) && Math.abs(number) < 1e15;
            out.append(whole ? String.valueOf(number.longValue()) : String.valueOf(number));
        } else {
            out.append(value);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (char c : text.toCharArray()) {
            switch (c) {
                case '"', '\\' -> out.append('\\').append(c);
                default -> out.append(c < ' ' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
            }
        }
        out.append('"');
    }
}
