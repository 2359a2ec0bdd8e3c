package request

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestRequestsAreUnderstoodOrRefused(t *testing.T) {
	text, err := os.ReadFile("../../vectors/requests.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Body, Query *string
			Understood  map[string]any
			Refused     string
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Vectors {
		body, query := valueOf(v.Body), valueOf(v.Query)
		t.Run(body+"?"+query, func(t *testing.T) {
			found, err := Parse([]byte(body), query, 2)
			if v.Understood == nil {
				if err == nil || !strings.Contains(err.Error(), v.Refused) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("refused with %v, not with a line that has %q", err, v.Refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			expected := asMap(t, Default(2))
			for name, value := range v.Understood {
				expected[name] = value
			}
			if got, want := asText(t, asMap(t, found)), asText(t, expected); got != want {
				t.Errorf("understood as %s, not %s", got, want)
			}
		})
	}
}

func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func asMap(t *testing.T, request Request) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(asText(t, request)), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func asText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
