package llm_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/recipes/llm"
	"github.com/retrywhen/retrywhen/retry"
)

var patient = retry.New(backoff.Constant(time.Second), retry.Limit(3))

// background is a server of responses that run in the background: it sends the events after one. The first connection is cut
// after a number of bytes.
type background struct {
	cut      int
	requests []string
}

func (b *background) RoundTrip(r *http.Request) (*http.Response, error) {
	b.requests = append(b.requests, r.Method+" "+r.URL.RequestURI())
	after, _ := strconv.Atoi(r.URL.Query().Get("starting_after"))
	var text strings.Builder
	for n, e := range []string{
		"event: response.created\ndata: {\"response\":{\"id\":\"resp_7\"}, ",
		"event: response.output_text.delta\ndata: {\"delta\":\"one \", ",
		"event: response.output_text.delta\ndata: {\"delta\":\"two \", ",
		"event: response.output_text.delta\ndata: {\"delta\":\"three\", ",
		"event: response.completed\ndata: {\"response\":{\"id\":\"resp_7\"}, ",
	} {
		if n+1 > after {
			text.WriteString(fmt.Sprintf("%s\"sequence_number\":%d}\n\n", e, n+1))
		}
	}
	var body io.Reader = strings.NewReader(text.String())
	if len(b.requests) == 1 {
		body = io.MultiReader(strings.NewReader(text.String()[:min(b.cut, len(text.String()))]), iotest.ErrReader(errCut))
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body)}, nil
}

// The connection is cut at each byte of the answer: each token comes once.
func TestResumed_Sequence(t *testing.T) {
	request := func(ctx context.Context, at llm.Cursor) (*http.Request, error) {
		if at.Response == "" {
			return http.NewRequestWithContext(ctx, http.MethodPost, "http://model/responses", strings.NewReader(`{"background":true,"stream":true}`))
		}
		return http.NewRequestWithContext(ctx, http.MethodGet,
			fmt.Sprintf("http://model/responses/%s?stream=true&starting_after=%d", at.Response, at.Sequence), http.NoBody)
	}
	for cut := range 430 {
		synctest.Test(t, func(t *testing.T) {
			server := &background{cut: cut}
			tokens, err := llm.Resumed(&http.Client{Transport: server}, llm.Cursor{}, request, llm.Responses, llm.Sequence, time.Minute, patient).Collect(t.Context())
			if err != nil || !slices.Equal(tokens, []string{"one ", "two ", "three"}) {
				t.Errorf("cut after %d bytes: %q, %v: %q", cut, tokens, err, server.requests)
			}
			if cut == 150 && !slices.Equal(server.requests, []string{"POST /responses", "GET /responses/resp_7?stream=true&starting_after=1"}) {
				t.Errorf("requests %q", server.requests)
			}
		})
	}
}

// The second request has the text that was received.
func TestResumed_Prefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = "a b c d"
		var prefixes []string
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			prefix, _ := io.ReadAll(r.Body)
			prefixes = append(prefixes, string(prefix))
			var text strings.Builder
			for _, c := range strings.TrimPrefix(all, string(prefix)) {
				fmt.Fprintf(&text, "event: content_block_delta\ndata: {\"delta\":{\"text\":\"%c\"}}\n\n", c)
				if len(prefixes) < 3 && c != ' ' {
					return respond(text.String() + "event: content"), nil
				}
			}
			return respond(text.String() + "event: message_stop\ndata: {}\n\n"), nil
		})}
		request := func(ctx context.Context, prefix string) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodPost, "http://model/messages", strings.NewReader(prefix))
		}
		tokens, err := llm.Resumed(client, "", request, llm.Messages, llm.Prefix, time.Minute, patient).Collect(t.Context())
		if err != nil || strings.Join(tokens, "") != all || !slices.Equal(prefixes, []string{"", "a", "a b"}) {
			t.Errorf("%q, %v, prefixes %q", tokens, err, prefixes)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(text string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text))}
}

// A fault in a response with status 200 is a failure, and no token. One that comes again with each request is permanent.
func TestParse_Faults(t *testing.T) {
	for _, c := range []struct {
		name     string
		parse    llm.Parse
		text     string
		requests int
	}{
		{"overloaded", llm.Messages, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", 4},
		{"invalid", llm.Messages, "event: error\ndata: {\"error\":{\"type\":\"invalid_request_error\"}}\n\n", 1},
		{"chat", llm.Chat, "data: {\"error\":{\"type\":\"server_error\",\"message\":\"sorry\"}}\n\n", 4},
		{"quota", llm.Chat, "data: {\"error\":{\"code\":\"insufficient_quota\"}}\n\n", 1},
		{"response failed", llm.Responses, "event: response.failed\ndata: {\"response\":{\"error\":{\"code\":\"server_error\"}}}\n\n", 4},
		{"response error", llm.Responses, "event: error\ndata: {\"code\":\"invalid_prompt\"}\n\n", 1},
		{"not JSON", llm.Chat, "data: {\n\n", 4},
		{"not JSON", llm.Messages, "data: {\n\n", 4},
		{"not JSON", llm.Responses, "data: {\n\n", 4},
		{"no end", llm.Chat, "data: {}\n\n", 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { requests++; return respond(c.text), nil })}
			tokens, err := llm.Tokens(client, ask("http://model/"), c.parse, time.Minute, patient).Collect(t.Context())
			if err == nil || len(tokens) != 0 || requests != c.requests {
				t.Errorf("%s: %q, %v after %d requests", c.name, tokens, err, requests)
			}
		})
	}
}
