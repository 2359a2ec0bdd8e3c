// Package gcf is for Google Cloud Functions, whose buildpack looks for a registered function: Measure.
package gcf

import (
	"github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"github.com/swtch-tools/swtch/functions/go/function"
)

func init() { functions.HTTP("Measure", function.Handler("gcf")) }
