// Package function is for OpenFaaS, whose template golang-middleware calls Handle.
package function

import (
	"net/http"

	"github.com/swtch-tools/swtch/functions/go/function"
)

var handler = function.Handler("openfaas")

// Handle answers a request.
func Handle(w http.ResponseWriter, r *http.Request) { handler(w, r) }
