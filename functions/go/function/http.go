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
			refuse(w, err)
			return
		}
		asked, err := Parse(body, r.URL.RawQuery)
		if err != nil {
			refuse(w, err)
			return
		}
		write(w, http.StatusOK, Answer(asked, platform, r.Header.Get(idHeaders[platform])))
	}
}

func refuse(w http.ResponseWriter, err error) {
	write(w, http.StatusBadRequest, document.Refusal{Schema: document.ErrorSchema, Error: err.Error()})
}

func write(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"schema":"swtch/faas-error/1","error":"the document is not JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text)
}
