// The function served as the template golang-middleware serves it behind of-watchdog: HTTP on loopback.
package main

import (
	"cmp"
	"log"
	"net/http"
	"os"

	openfaas "github.com/swtch-tools/swtch/functions/go/adapters/openfaas"
)

func main() {
	http.HandleFunc("/", openfaas.Handle)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "8082"), nil))
}
