package swtch.function;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Files of /proc and /sys, which may not be there. */
public final class Files {
    private Files() {}

    /** The whole text; empty where it cannot be read. */
    public static String text(Path file) {
        try {
            return new String(java.nio.file.Files.readAllBytes(file), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return "";
        }
    }

    static String firstLine(Path file) {
        return text(file).split("\n", 2)[0].strip();
    }

    /** The first group of the first line that matches, or null. */
    public static String find(String pattern, String text) {
        Matcher matcher = Pattern.compile(pattern, Pattern.MULTILINE).matcher(text);
        return matcher.find() ? matcher.group(1) : null;
    }

    /** A number that is not negative, times its unit; null for everything else, "max" and -1 too. */
    public static Long whole(String value, long unit) {
        try {
            long number = value == null ? -1 : Long.parseLong(value);
            return number < 0 ? null : Long.valueOf(number * unit);
        } catch (NumberFormatException e) {
            return null;
        }
    }
}
