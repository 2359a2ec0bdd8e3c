package swtch.function;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
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

/** What the cores of all languages must compute alike. */
class VectorsTest {
    private static Map<?, ?> read(String name) throws Exception {
        return (Map<?, ?>) Json.read(Files.text(Path.of("../../vectors", name)));
    }

    private static Stream<Map<?, ?>> vectors(String name) throws Exception {
        return ((List<?>) read(name).get("vectors")).stream().map(vector -> (Map<?, ?>) vector);
    }

    private static void near(Object expected, Double found, double tolerance, String what) {
        if (expected == null) {
            assertNull(found, what);
            return;
        }
        double wanted = (Double) expected;
        assertEquals(wanted, found, tolerance * Math.max(Math.abs(wanted), tolerance), what);
    }

    @TestFactory
    Stream<DynamicTest> figures() throws Exception {
        return vectors("statistics.json").map(vector -> dynamicTest((String) vector.get("name"), () -> {
            double[] samples = ((List<?>) vector.get("samples")).stream().mapToDouble(Double.class::cast).toArray();
            Statistics.Estimate found = Statistics.estimate(samples);
            near(vector.get("median"), found.median(), 1e-9, "median");
            near(vector.get("mean"), found.mean(), 1e-9, "mean");
            near(vector.get("minimum"), found.minimum(), 1e-9, "minimum");
            near(vector.get("cov"), found.cov(), 1e-9, "cov");
            near(vector.get("lag1"), Statistics.lag1(samples), 1e-9, "lag1");
            if (vector.get("interval") instanceof Map<?, ?> interval) {
                near(interval.get("low"), found.low(), 1e-9, "low");
                near(interval.get("high"), found.high(), 1e-9, "high");
            } else {
                assertEquals(1 - Math.pow(2, 1 - found.n()), found.confidence());
            }
            Normality.ShapiroWilk normality = Normality.test(samples);
            if (vector.get("shapiro_wilk") instanceof Map<?, ?> expected) {
                near(expected.get("w"), normality.w(), 1e-6, "W");
                near(expected.get("p"), normality.p(), 1e-6, "p");
            } else {
                assertNull(normality);
            }
        }));
    }

    @TestFactory
    Stream<DynamicTest> quotas() throws Exception {
        double tolerance = (Double) read("gaps.json").get("tolerance");
        return vectors("gaps.json").map(vector -> dynamicTest((String) vector.get("name"), () -> {
            List<List<Quota.Interval>> threads = ((List<?>) vector.get("spinners")).stream().map(VectorsTest::intervals).toList();
            Map<?, ?> expected = (Map<?, ?>) vector.get("expected");
            Quota.Outcome outcome = Quota.infer(threads);
            Quota.Inferred found = outcome.found();
            if (expected.get("period_ns") == null) {
                assertNull(found);
                String word = expected.get("why") instanceof String why ? why : "";
                assertTrue(outcome.why().contains(word) && !outcome.why().contains("\n"), outcome.why());
                return;
            }
            assertNotNull(found, outcome.why());
            within(expected.get("period_ns"), found.periodNs(), tolerance);
            within(expected.get("quota_ns"), found.quotaNs(), tolerance);
            within(expected.get("cpus"), found.quotaNs() / found.periodNs(), tolerance);
        }));
    }

    private static void within(Object expected, double found, double tolerance) {
        assertEquals(1, found / (Double) expected, tolerance);
    }

    private static List<Quota.Interval> intervals(Object spinner) {
        return ((List<?>) spinner).stream().map(pair -> {
            var ends = (List<?>) pair;
            return new Quota.Interval(((Double) ends.get(0)).longValue(), ((Double) ends.get(1)).longValue(), -1);
        }).toList();
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
