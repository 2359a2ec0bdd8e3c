// AWS Lambda, for the runtime provided.al2023: build it as "bootstrap".
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/swtch-tools/swtch/functions/go/function"
)

// overHTTP is what a function URL or an API gateway makes of a request over HTTP.
type overHTTP struct {
	RequestContext *json.RawMessage `json:"requestContext"`
	RawQueryString string           `json:"rawQueryString"`
	Body           string           `json:"body"`
	IsBase64       bool             `json:"isBase64Encoded"`
}

type response struct {
	StatusCode int               `json:"statusCode"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body"`
}

func main() { lambda.Start(handle) }

// The event is the request itself, or such a request over HTTP.
func handle(ctx context.Context, event json.RawMessage) (any, error) {
	id := ""
	if found, known := lambdacontext.FromContext(ctx); known {
		id = found.AwsRequestID
	}
	var http overHTTP
	if json.Unmarshal(event, &http) == nil && http.RequestContext != nil {
		return answerHTTP(http, id), nil
	}
	asked, err := function.Parse(event, "")
	if err != nil {
		return nil, fmt.Errorf("bad request: %w", err)
	}
	return function.Answer(asked, "lambda", id), nil
}

func answerHTTP(event overHTTP, id string) response {
	body := []byte(event.Body)
	if event.IsBase64 {
		decoded, err := base64.StdEncoding.DecodeString(event.Body)
		if err != nil {
			decoded = []byte(event.Body)
		}
		body = decoded
	}
	status, text := function.Reply(body, event.RawQueryString, "lambda", id)
	return response{status, map[string]string{"content-type": "application/json"}, string(text)}
}
