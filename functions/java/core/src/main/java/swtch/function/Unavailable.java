package swtch.function;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What is null or missing in a document, and why. */
public final class Unavailable {
    private final List<Map<String, Object>> list = new ArrayList<>();

    /** The path of the field, its parts joined by dots, and the reason, of which the first line is kept. */
    public void add(String what, String why) {
        list.add(Map.of("what", what, "why", String.valueOf(why).split("\n", 2)[0]));
    }

    List<Map<String, Object>> document() {
        return list;
    }
}
