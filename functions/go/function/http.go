package function

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/swtch-tools/swtch/functions/go/document"
)

// More than any request needs.
const mostBytes = 1 << 20

// Where platforms put the name of an invocation.
var idHeaders = map[string]string{"gcf": "Function-Execution-Id", "knative": "Ce-Id", "openfaas": "X-Call-Id"}

// Handler answers requests of a platform that speaks HTTP.
func Handler(platform string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBytes))
		if err != nil {
			var tooLarge *http.MaxBytesError
			if errors.As(err, &tooLarge) {
				err = fmt.Errorf("the body is larger than %d bytes", mostBytes)
			}
			write(w, http.StatusBadRequest, refusal(err))
			return
		}
		status, text := Reply(body, r.URL.RawQuery, platform, r.Header.Get(idHeaders[platform]))
		write(w, status, text)
	}
}

// NotFound answers what is not asked of the function.
func NotFound(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusNotFound, refusal(errors.New("there is nothing here but POST / and GET /healthz")))
}

// Reply is the status and the text that a request over HTTP is answered with; worked as of Answer.
func Reply(body []byte, query, platform, id string, worked ...func()) (int, []byte) {
	asked, err := Parse(body, query)
	if err != nil {
		return http.StatusBadRequest, refusal(err)
	}
	text, err := json.Marshal(Answer(asked, platform, id, worked...))
	if err != nil {
		return http.StatusInternalServerError, refusal(err)
	}
	return http.StatusOK, text
}

func refusal(err error) []byte {
	text, _ := json.Marshal(document.Refusal{Schema: document.ErrorSchema, Error: err.Error()})
	return text
}

func write(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text)
}
