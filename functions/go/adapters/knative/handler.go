// Package function is for Knative, whose template's main calls Handle.
package function

import (
	"net/http"

	"github.com/swtch-tools/swtch/functions/go/function"
)

var handler = function.Handler("knative")

// Handle answers a request.
func Handle(w http.ResponseWriter, r *http.Request) { handler(w, r) }
