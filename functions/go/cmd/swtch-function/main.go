// The function as a plain server: swtch-function --listen 127.0.0.1:0; with --lines without one, from standard input to standard output.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/swtch-tools/swtch/functions/go/function"
)

func main() {
	address := flag.String("listen", "127.0.0.1:0", "where to listen, `ADDRESS:PORT`; port 0 takes any")
	lines := flag.Bool("lines", false, "answer each line of standard input with a line on standard output")
	flag.Parse()
	run := func() error { return serve(*address) }
	if *lines {
		run = answerLines
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "swtch-function:", err)
		os.Exit(1)
	}
}

// A line in, a line out: what swtch faas runs, so that no HTTP is in the function's cgroup. That work is done is a line of its own before the
// answer, which has what the work took.
func answerLines() error {
	worked := func() { fmt.Println(`{"status":200,"document":{},"more":true}`) }
	fmt.Println(`{"ready":true}`)
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		status, text := function.Reply(line, "", "local", "", worked)
		if _, err := fmt.Printf("{\"status\":%d,\"document\":%s}\n", status, text); err != nil {
			return err
		}
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
	routes.HandleFunc("/", function.NotFound)
	return http.Serve(listener, routes)
}
