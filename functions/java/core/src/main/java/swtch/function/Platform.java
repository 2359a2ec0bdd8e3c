package swtch.function;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a platform says of itself, by environment variables, best first; those of swtch faas count on any platform. */
final class Platform {
    private static final Map<String, List<String>> NAMES = Map.of(
            "lambda", List.of("AWS_LAMBDA_FUNCTION_NAME", "SWTCH_FUNCTION_NAME"),
            "gcf", List.of("K_SERVICE", "FUNCTION_NAME", "FUNCTION_TARGET", "SWTCH_FUNCTION_NAME"),
            "knative", List.of("K_SERVICE", "SWTCH_FUNCTION_NAME"),
            "openfaas", List.of("OPENFAAS_NAME", "SWTCH_FUNCTION_NAME"),
            "local", List.of("SWTCH_FUNCTION_NAME"));
    private static final Map<String, List<String>> MEMORIES = Map.of(
            "lambda", List.of("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "SWTCH_FUNCTION_MEMORY_MB"),
            "gcf", List.of("FUNCTION_MEMORY_MB", "SWTCH_FUNCTION_MEMORY_MB"));
    private static final List<String> OTHER_MEMORY = List.of("SWTCH_FUNCTION_MEMORY_MB");
    private static final String CPUS = "SWTCH_FUNCTION_CPUS";
    /** AWS Lambda's documentation: at 1769 MB a function has the equivalent of one vCPU. */
    private static final double LAMBDA_MB_PER_CPU = 1769;

    private Platform() {}

    static Map<String, Object> read(String name, Map<String, String> environment) {
        var used = new ArrayList<String>();
        String function = null;
        for (String variable : NAMES.get(name)) {
            if (function == null && !environment.getOrDefault(variable, "").isEmpty()) {
                function = environment.get(variable);
                used.add(variable);
            }
        }
        Double mb = null;
        for (String variable : MEMORIES.getOrDefault(name, OTHER_MEMORY)) {
            if (mb == null) {
                mb = positive(variable, environment, used);
            }
        }
        Double cpus = positive(CPUS, environment, used);
        if (cpus == null && mb != null && name.equals("lambda")) {
            cpus = mb / LAMBDA_MB_PER_CPU;
        }
        var fields = new LinkedHashMap<String, Object>();
        fields.put("name", name);
        fields.put("function", function);
        fields.put("memory_mb", mb == null ? null : Math.round(mb));
        fields.put("cpus", cpus);
        fields.put("source", used.isEmpty() ? null : "environment variables " + String.join(", ", used));
        return fields;
    }

    private static Double positive(String variable, Map<String, String> environment, List<String> used) {
        try {
            double number = Double.parseDouble(environment.getOrDefault(variable, ""));
            if (number > 0 && number < 1e9) {
                used.add(variable);
                return number;
            }
        } catch (NumberFormatException e) {
            // As good as not set.
        }
        return null;
    }
}
