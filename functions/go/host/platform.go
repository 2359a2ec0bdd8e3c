package host

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/swtch-tools/swtch/functions/go/document"
)

// The names of each platform's environment variables, best first; those of swtch faas count on any of them.
var (
	nameVariables = map[string][]string{
		"lambda":   {"AWS_LAMBDA_FUNCTION_NAME"},
		"gcf":      {"K_SERVICE", "FUNCTION_NAME", "FUNCTION_TARGET"},
		"knative":  {"K_SERVICE"},
		"openfaas": {"OPENFAAS_NAME"},
	}
	memoryVariables = map[string]string{"lambda": "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "gcf": "FUNCTION_MEMORY_MB"}
)

const (
	ownName   = "SWTCH_FUNCTION_NAME"
	ownMemory = "SWTCH_FUNCTION_MEMORY_MB"
	ownCPUs   = "SWTCH_FUNCTION_CPUS"
)

// AWS Lambda's documentation: at 1769 MB a function has the equivalent of one vCPU.
const lambdaMBPerCPU = 1769

// Platform is what the platform says of itself.
func Platform(name string) document.Platform {
	var used []string
	platform := document.Platform{Name: name}
	for _, variable := range append(slices.Clone(nameVariables[name]), ownName) {
		if value := os.Getenv(variable); value != "" {
			platform.Function, used = &value, append(used, variable)
			break
		}
	}
	for _, variable := range []string{memoryVariables[name], ownMemory} {
		if mb, found := positive(variable); found {
			whole := int64(mb + 0.5)
			platform.MemoryMB, used = &whole, append(used, variable)
			break
		}
	}
	if cpus, found := positive(ownCPUs); found {
		platform.CPUs, used = &cpus, append(used, ownCPUs)
	} else if name == "lambda" && platform.MemoryMB != nil {
		cpus := float64(*platform.MemoryMB) / lambdaMBPerCPU
		platform.CPUs = &cpus
	}
	if len(used) > 0 {
		platform.Source = text("environment variables " + strings.Join(used, ", "))
	}
	return platform
}

func positive(variable string) (float64, bool) {
	number, err := strconv.ParseFloat(os.Getenv(variable), 64)
	return number, err == nil && number > 0 && number < 1e9
}
