package swtch.function;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** What the cores of all languages must understand alike. */
class VectorsTest {
    private static Map<?, ?> read(String name) throws Exception {
        return (Map<?, ?>) Json.read(Files.text(Path.of("../../vectors", name)));
    }

    private static Stream<Map<?, ?>> vectors(String name) throws Exception {
        return ((List<?>) read(name).get("vectors")).stream().map(vector -> (Map<?, ?>) vector);
    }

    @TestFactory
    Stream<DynamicTest> requests() throws Exception {
        return vectors("requests.json").map(vector -> {
            String body = (String) vector.get("body");
            String query = (String) vector.get("query");
            return dynamicTest(body + "?" + query, () -> {
                if (vector.get("understood") instanceof Map<?, ?> understood) {
                    var expected = new LinkedHashMap<>(Request.parse(null, null).document());
                    understood.forEach((name, value) -> expected.put((String) name, value));
                    assertEquals(expected, Request.parse(body, query).document());
                    return;
                }
                String why = assertThrows(RequestException.class, () -> Request.parse(body, query)).getMessage();
                assertTrue(why.contains((String) vector.get("refused")) && !why.contains("\n"), why);
            });
        });
    }
}
