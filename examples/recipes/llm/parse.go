package llm

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/retrywhen/retrywhen/stream"
)

// Parse returns the token of an event, or none, and whether the answer ends with it. An error is a failure of the
// attempt; one that a retry cannot help is marked as permanent.
type Parse func(event, data string) (token string, done bool, err error)

// Chat parses OpenAI's chat completions, and those of the many servers that speak the same.
func Chat(_, data string) (token string, done bool, err error) {
	if data == "[DONE]" {
		return "", true, nil
	}
	var chunk struct {
		Choices []struct{ Delta struct{ Content string } }
		Error   *fault
	}
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		return "", false, err
	}
	for _, c := range chunk.Choices {
		token += c.Delta.Content
	}
	return token, false, chunk.Error.failure()
}

// Responses parses OpenAI's responses.
func Responses(event, data string) (token string, done bool, err error) {
	var e struct {
		Delta    string
		Response struct{ Error *fault }
		fault
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return "", false, err
	}
	switch event {
	case "response.output_text.delta":
		return e.Delta, false, nil
	case "response.completed", "response.incomplete":
		return "", true, nil
	case "response.failed":
		return "", false, e.Response.Error.failure()
	case "error":
		return "", false, e.failure()
	}
	return "", false, nil
}

// Messages parses Anthropic's messages.
func Messages(event, data string) (token string, done bool, err error) {
	var e struct {
		Delta struct{ Text string }
		Error *fault
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return "", false, err
	}
	return e.Delta.Text, event == "message_stop", e.Error.failure()
}

// fault is an error in an answer whose status was 200.
type fault struct{ Type, Code, Message string }

// permanent are the faults that come again with each request.
var permanent = []string{"invalid_request_error", "authentication_error", "permission_error", "not_found_error", "request_too_large",
	"billing_error", "insufficient_quota", "invalid_prompt", "invalid_api_key", "context_length_exceeded"}

// failure returns nil for no fault.
func (f *fault) failure() error {
	if f == nil {
		return nil
	}
	err := fmt.Errorf("llm: the server failed: %s %s: %s", f.Type, f.Code, f.Message)
	if slices.Contains(permanent, f.Type) || slices.Contains(permanent, f.Code) {
		return stream.Permanent(err)
	}
	return err
}

// Cursor is a position in one of OpenAI's responses that run in the background. The request for the zero Cursor is a
// POST; for another one a GET of /responses/{Response}?stream=true&starting_after={Sequence}.
type Cursor struct {
	Response string
	Sequence int
}

// Sequence returns the Cursor after an event, for Resumed.
func Sequence(at Cursor, data, _ string) Cursor {
	var e struct {
		Sequence int `json:"sequence_number"`
		Response struct{ ID string }
	}
	if json.Unmarshal([]byte(data), &e) == nil {
		at.Sequence = e.Sequence
		if e.Response.ID != "" {
			at.Response = e.Response.ID
		}
	}
	return at
}

// Prefix returns the text after an event, for Resumed: the request has it as the beginning of the model's message.
func Prefix(at, _, token string) string { return at + token }
