package host

import (
	"os"
	"strconv"
	"strings"

	"github.com/swtch-tools/swtch/functions/go/document"
)

// What each platform's environment variables are called.
var names = map[string][]string{
	"lambda":   {"AWS_LAMBDA_FUNCTION_NAME"},
	"gcf":      {"K_SERVICE", "FUNCTION_NAME", "FUNCTION_TARGET"},
	"knative":  {"K_SERVICE"},
	"openfaas": {"OPENFAAS_NAME"},
}

var memories = map[string]string{"lambda": "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "gcf": "FUNCTION_MEMORY_MB"}

// AWS Lambda's documentation: at 1769 MB a function has the equivalent of one vCPU.
const lambdaMBPerCPU = 1769

// Platform is what the platform says of itself.
func Platform(name string) document.Platform {
	platform := document.Platform{Name: name}
	var sources []string
	for _, variable := range names[name] {
		if value := os.Getenv(variable); value != "" {
			platform.Function, sources = &value, append(sources, variable)
			break
		}
	}
	if variable := memories[name]; variable != "" {
		if mb, err := strconv.ParseInt(os.Getenv(variable), 10, 64); err == nil && mb > 0 {
			platform.MemoryMB, sources = &mb, append(sources, variable)
			if name == "lambda" {
				cpus := float64(mb) / lambdaMBPerCPU
				platform.CPUs = &cpus
			}
		}
	}
	if len(sources) > 0 {
		platform.Source = text("environment variables " + strings.Join(sources, ", "))
	}
	return platform
}
