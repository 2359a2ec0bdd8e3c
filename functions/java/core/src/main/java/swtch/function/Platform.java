package swtch.function;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a platform says of itself, by environment variables. */
final class Platform {
    private static final Map<String, List<String>> NAMES = Map.of(
            "lambda", List.of("AWS_LAMBDA_FUNCTION_NAME"),
            "gcf", List.of("K_SERVICE", "FUNCTION_NAME", "FUNCTION_TARGET"),
            "knative", List.of("K_SERVICE"),
            "openfaas", List.of("OPENFAAS_NAME"));
    private static final Map<String, String> MEMORIES =
            Map.of("lambda", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "gcf", "FUNCTION_MEMORY_MB");
    /** AWS Lambda's documentation: at 1769 MB a function has the equivalent of one vCPU. */
    private static final double LAMBDA_MB_PER_CPU = 1769;

    private Platform() {}

    static Map<String, Object> read(String name, Map<String, String> environment) {
        var sources = new ArrayList<String>();
        String function = null;
        for (String variable : NAMES.getOrDefault(name, List.of())) {
            if (function == null && !environment.getOrDefault(variable, "").isEmpty()) {
                function = environment.get(variable);
                sources.add(variable);
            }
        }
        String memory = MEMORIES.getOrDefault(name, "");
        Long mb = Files.whole(environment.get(memory), 1);
        if (mb != null) {
            sources.add(memory);
        }
        var fields = new LinkedHashMap<String, Object>();
        fields.put("name", name);
        fields.put("function", function);
        fields.put("memory_mb", mb);
        fields.put("cpus", mb != null && name.equals("lambda") ? mb / LAMBDA_MB_PER_CPU : null);
        fields.put("source", sources.isEmpty() ? null : "environment variables " + String.join(", ", sources));
        return fields;
    }
}
