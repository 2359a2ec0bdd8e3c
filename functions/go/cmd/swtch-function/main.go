// The function as a plain server: swtch-function --listen 127.0.0.1:0
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/swtch-tools/swtch/functions/go/function"
)

func main() {
	address := flag.String("listen", "127.0.0.1:0", "where to listen, `ADDRESS:PORT`; port 0 takes any")
	flag.Parse()
	if err := serve(*address); err != nil {
		fmt.Fprintln(os.Stderr, "swtch-function:", err)
		os.Exit(1)
	}
}

func serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("{\"listening\":%q,\"pid\":%d}\n", listener.Addr(), os.Getpid())
	routes := http.NewServeMux()
	routes.HandleFunc("POST /{$}", function.Handler("local"))
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return http.Serve(listener, routes)
}
