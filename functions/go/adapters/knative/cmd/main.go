// The function served by Knative's contract: HTTP at LISTEN_ADDRESS, or on all addresses at PORT, with the paths of its probes.
package main

import (
	"cmp"
	"log"
	"net/http"
	"os"

	knative "github.com/swtch-tools/swtch/functions/go/adapters/knative"
)

func main() {
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	http.HandleFunc("/health/liveness", ok)
	http.HandleFunc("/health/readiness", ok)
	http.HandleFunc("/", knative.Handle)
	address := cmp.Or(os.Getenv("LISTEN_ADDRESS"), ":"+cmp.Or(os.Getenv("PORT"), "8080"))
	log.Fatal(http.ListenAndServe(address, nil))
}
