// Package request reads what is asked of the function: a JSON object, a query string, or both.
package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Methods of this language.
var Methods = []string{"pipe", "condvar", "ring", "channel"}

// Request is what is asked, defaults filled in.
type Request struct {
	Methods          []string `json:"methods"`
	SwitchesPerBatch int      `json:"switches_per_batch"`
	MinBatches       int      `json:"min_batches"`
	MaxBatches       int      `json:"max_batches"`
	Interval         float64  `json:"interval"`
	TimeLimitMs      float64  `json:"time_limit_ms"`
	RingTasks        int      `json:"ring_tasks"`
	SpinMs           float64  `json:"spin_ms"`
	Spinners         int      `json:"spinners"`
	WorkMs           float64  `json:"work_ms"`
	Iterations       int      `json:"iterations"`
	Pin              bool     `json:"pin"`
	Samples          bool     `json:"samples"`
}

// Default is what is done when nothing is asked.
func Default(cpusAllowed int) Request {
	return Request{
		Methods: []string{"pipe", "condvar", "ring"}, SwitchesPerBatch: 200, MinBatches: 20, MaxBatches: 1000, Interval: 0.01,
		TimeLimitMs: 1000, RingTasks: 8, SpinMs: 1000, Spinners: min(max(cpusAllowed, 1), 64), Pin: true,
	}
}

// Parse reads a body and a query string; both may be empty. An error is one line.
func Parse(body []byte, query string, cpusAllowed int) (Request, error) {
	r := Default(cpusAllowed)
	given, err := fieldsOf(body, query)
	if err != nil {
		return r, err
	}
	for name, value := range given {
		if err := r.set(name, value); err != nil {
			return r, err
		}
	}
	if r.MinBatches > r.MaxBatches {
		return r, fmt.Errorf("min_batches is %d, more than max_batches, %d", r.MinBatches, r.MaxBatches)
	}
	return r, nil
}

// Values of a body are as JSON has them; those of a query string are made so.
func fieldsOf(body []byte, query string) (map[string]any, error) {
	given := map[string]any{}
	if len(bytes.TrimSpace(body)) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		var document any
		if err := decoder.Decode(&document); err != nil || decoder.More() {
			return nil, fmt.Errorf("the body is not JSON")
		}
		object, isObject := document.(map[string]any)
		if !isObject && document != nil {
			return nil, fmt.Errorf("the body is not a JSON object")
		}
		for name, value := range object {
			given[name] = value
		}
	}
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the query string cannot be read: %v", err)
	}
	for name, values := range parameters {
		if _, both := given[name]; both || len(values) > 1 {
			return nil, fmt.Errorf("%s is given twice", shown(name))
		}
		given[name] = fromQuery(name, values[0])
	}
	return given, nil
}

func fromQuery(name, text string) any {
	switch name {
	case "methods":
		methods := []any{}
		for method := range strings.SplitSeq(text, ",") {
			if method != "" {
				methods = append(methods, method)
			}
		}
		return methods
	case "pin", "samples":
		if text == "true" || text == "false" {
			return text == "true"
		}
		return text
	}
	return json.Number(text)
}

func (r *Request) set(name string, value any) error {
	switch name {
	case "methods":
		return r.setMethods(value)
	case "switches_per_batch":
		return setWhole(&r.SwitchesPerBatch, name, value, 2, 1_000_000)
	case "min_batches":
		return setWhole(&r.MinBatches, name, value, 1, 5000)
	case "max_batches":
		return setWhole(&r.MaxBatches, name, value, 1, 5000)
	case "interval":
		return setNumber(&r.Interval, name, value, math.SmallestNonzeroFloat64, 1)
	case "time_limit_ms":
		return setNumber(&r.TimeLimitMs, name, value, math.SmallestNonzeroFloat64, 900_000)
	case "ring_tasks":
		return setWhole(&r.RingTasks, name, value, 2, 64)
	case "spin_ms":
		return setNumber(&r.SpinMs, name, value, 0, 900_000)
	case "spinners":
		return setWhole(&r.Spinners, name, value, 1, 64)
	case "work_ms":
		return setNumber(&r.WorkMs, name, value, 0, 900_000)
	case "iterations":
		return setWhole(&r.Iterations, name, value, 0, 10_000_000_000_000)
	case "pin":
		return setFlag(&r.Pin, name, value)
	case "samples":
		return setFlag(&r.Samples, name, value)
	}
	return fmt.Errorf("unknown name %s", shown(name))
}

func (r *Request) setMethods(value any) error {
	list, isList := value.([]any)
	if !isList {
		return fmt.Errorf("methods is not a list")
	}
	r.Methods = []string{}
	for _, item := range list {
		method, isText := item.(string)
		if !isText || !slices.Contains(Methods, method) {
			return fmt.Errorf("no method %s in Go; there are %s", shown(fmt.Sprint(item)), strings.Join(Methods, ", "))
		}
		if slices.Contains(r.Methods, method) {
			return fmt.Errorf("methods has %s twice", method)
		}
		r.Methods = append(r.Methods, method)
	}
	return nil
}

func setNumber(field *float64, name string, value any, low, high float64) error {
	text, isNumber := value.(json.Number)
	number, err := strconv.ParseFloat(string(text), 64)
	if !isNumber || err != nil || !(number >= low && number <= high) {
		if low > 0 && low < 1e-300 {
			return fmt.Errorf("%s is not a number above 0 and up to %v", name, high)
		}
		return fmt.Errorf("%s is not a number from %v to %v", name, low, high)
	}
	*field = number
	return nil
}

func setWhole(field *int, name string, value any, low, high int) error {
	var number float64
	err := setNumber(&number, name, value, float64(low), float64(high))
	if err != nil || number != math.Trunc(number) {
		return fmt.Errorf("%s is not a whole number from %d to %d", name, low, high)
	}
	*field = int(number)
	return nil
}

func setFlag(field *bool, name string, value any) error {
	flag, isFlag := value.(bool)
	if !isFlag {
		return fmt.Errorf("%s is neither true nor false", name)
	}
	*field = flag
	return nil
}

// In one line, and not longer than a line should be.
func shown(text string) string {
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "..."
	}
	return strconv.Quote(text)
}
