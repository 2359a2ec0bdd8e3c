// Package own calls a user's own function with events, as lines or over HTTP. It needs the standard library only, so that it fits into any module.
package own

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
)

const (
	callSchema  = "swtch/faas-call/1"
	errorSchema = "swtch/faas-error/1"
	mostBytes   = 16 << 20
)

var (
	contexts = reflect.TypeOf((*context.Context)(nil)).Elem()
	errors   = reflect.TypeOf((*error)(nil)).Elem()
)

// Function is a user's function: func([context.Context,] [event]) [([result,] [error])], as AWS Lambda takes them. Every type of an event that
// encoding/json knows is taken.
type Function struct {
	value       reflect.Value
	withContext bool
	event       reflect.Type
}

// Of checks a function. An error is one line.
func Of(function any) (*Function, error) {
	value := reflect.ValueOf(function)
	if value.Kind() != reflect.Func {
		return nil, fmt.Errorf("%T is not a function", function)
	}
	kind := value.Type()
	found := &Function{value: value}
	in := kind.NumIn()
	if in > 0 && kind.In(0).Implements(contexts) {
		found.withContext = true
		in--
	}
	if in == 1 {
		found.event = kind.In(kind.NumIn() - 1)
	}
	out := kind.NumOut()
	if in > 1 || kind.IsVariadic() || out > 2 || (out == 2 && !kind.Out(1).Implements(errors)) {
		return nil, fmt.Errorf("%s is not func([context.Context,] [event]) ([result,] error)", kind)
	}
	return found, nil
}

// Call calls it with an event in JSON; the result is JSON too.
func (f *Function) Call(ctx context.Context, event []byte) (text json.RawMessage, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	var in []reflect.Value
	if f.withContext {
		in = append(in, reflect.ValueOf(ctx))
	}
	if f.event != nil {
		into := reflect.New(f.event)
		if len(bytes.TrimSpace(event)) > 0 {
			if err := json.Unmarshal(event, into.Interface()); err != nil {
				return nil, fmt.Errorf("the event does not fit %s: %w", f.event, err)
			}
		}
		in = append(in, into.Elem())
	}
	out := f.value.Call(in)
	if last := len(out) - 1; last >= 0 && f.value.Type().Out(last).Implements(errors) {
		if err, failed := out[last].Interface().(error); failed && err != nil {
			return nil, err
		}
		out = out[:last]
	}
	if len(out) == 0 {
		return json.RawMessage("null"), nil
	}
	text, err = json.Marshal(out[0].Interface())
	if err != nil {
		return nil, fmt.Errorf("what the function returned is not JSON: %w", err)
	}
	return text, nil
}

// Reply is the status and the text of an answer over HTTP.
func (f *Function) Reply(ctx context.Context, body []byte) (int, []byte) {
	text, err := f.Call(ctx, body)
	if err != nil {
		return http.StatusInternalServerError, refusal(err)
	}
	return http.StatusOK, text
}

// Handler answers requests over HTTP with what a function returns. It panics when the function is none.
func Handler(function any) http.HandlerFunc {
	f, err := Of(function)
	if err != nil {
		panic(err)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBytes))
		status, text := http.StatusBadRequest, []byte(nil)
		if err != nil {
			text = refusal(err)
		} else {
			status, text = f.Reply(r.Context(), body)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(text)
	}
}

func refusal(err error) []byte {
	line, _, _ := strings.Cut(err.Error(), "\n")
	text, _ := json.Marshal(map[string]string{"schema": errorSchema, "error": line})
	return text
}
