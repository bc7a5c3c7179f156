package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/llm"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

const silence = 2 * time.Second // more than a busy machine takes for a token

// model is a server whose answers have 100 tokens, "r-1" to "r-100", where r is the number of the request. If before
// returns true, it has served the request. at is called before each token.
type model struct {
	requests atomic.Int64
	before   func(w http.ResponseWriter, request int64) bool
	at       func(token int)
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := m.requests.Add(1)
	if prompt, _ := io.ReadAll(r.Body); string(prompt) != "why?" {
		http.Error(w, "no prompt", http.StatusBadRequest)
		return
	}
	if m.before != nil && m.before(w, request) {
		return
	}
	flush := http.NewResponseController(w).Flush
	for n := 1; n <= 100; n++ {
		if m.at != nil {
			m.at(n)
		}
		fmt.Fprintf(w, ": thinking\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"%d-%d\"}}]}\n\n", request, n)
		_ = flush()
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func answer(request int) (tokens []string) {
	for n := 1; n <= 100; n++ {
		tokens = append(tokens, fmt.Sprintf("%d-%d", request, n))
	}
	return tokens
}

// start serves m behind a proxy, and returns the tokens of its answer and the delays before retries.
func start(t *testing.T, m *model) (stream.Stream[string], *proxy.Proxy, *[]time.Duration) {
	server := httptest.NewServer(m)
	network := proxy.Start(t, server.Listener.Addr().String())
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() { client.CloseIdleConnections(); server.CloseClientConnections(); server.Close() })
	delays := &[]time.Duration{}
	policy := retry.New(backoff.Exponential(5*time.Millisecond, 2).Jitter(jitter.Full), retry.Limit(12), retry.WithBudget(retry.NewBudget(10, 1, 0.1)),
		retry.OnRetry(func(_ context.Context, e retry.Event) { *delays = append(*delays, e.Delay) }))
	return llm.Tokens(client, ask("http://"+network.Address()), llm.Chat, silence, policy), network, delays
}

// ask returns the function that makes each attempt's request.
func ask(url string) func(context.Context) (*http.Request, error) {
	return func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("why?"))
	}
}

// All faults come before the first token. The answer is complete, and all of it is from one request.
func TestTokens_BeforeTheFirst(t *testing.T) {
	t.Parallel()
	m := &model{}
	tokens, network, delays := start(t, m)
	fault := network.Each()
	m.before = func(w http.ResponseWriter, request int64) bool {
		switch {
		case request <= 3:
			fault() // cut, silent, refused
			time.Sleep(10 * time.Millisecond)
		case request == 4:
			fmt.Fprint(w, ": thinking\n\n") // the response ends without a token
		case request == 5:
			w.WriteHeader(http.StatusBadGateway)
		}
		return request <= 5
	}
	got, err := tokens.Collect(t.Context())
	if err != nil || !slices.Equal(got, answer(6)) || len(*delays) < 5 {
		t.Errorf("%d tokens, %v, %d retries", len(got), err, len(*delays))
	}
}

// After the first token nothing is retried: no token is repeated, and the stream ends with an error.
func TestTokens_AfterTheFirst(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*proxy.Proxy){
		"cut":     (*proxy.Proxy).Cut,
		"silent":  (*proxy.Proxy).Silence,
		"refused": func(p *proxy.Proxy) { p.Refuse(10 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			m := &model{}
			tokens, network, delays := start(t, m)
			seen := make(chan struct{})
			m.at = func(n int) {
				if n == 51 {
					<-seen
				}
			}
			var got []string
			err := tokens.ForEach(t.Context(), func(token string) {
				if got = append(got, token); len(got) == 50 {
					fault(network)
					close(seen)
				}
			})
			if err == nil || !slices.Equal(got, answer(1)[:50]) || m.requests.Load() != 1 || len(*delays) != 0 {
				t.Errorf("%d tokens of %d requests, %v", len(got), m.requests.Load(), err)
			}
		})
	}
}

// The connection is cut at each byte of the response, after the first token: what comes are whole tokens.
func TestTokens_CutAnywhere(t *testing.T) {
	const response = "data: one\n\ndata: two\n:\ndata: lines\n\n: thinking\r\ndata: three\r\n\r\ndata: [DONE]\n\n"
	text := func(_, data string) (string, bool, error) {
		return strings.TrimSuffix(data, "[DONE]"), data == "[DONE]", nil
	}
	whole := []string{"one", "two\nlines", "three"}
	for cut := len("data: one\n\n"); cut <= len(response); cut++ {
		client := &http.Client{Transport: cutting{response[:cut]}}
		got, err := llm.Tokens(client, ask("http://model/"), text, time.Minute, retry.Default).Collect(t.Context())
		done := cut == len(response)
		want := whole[:strings.Count(strings.ReplaceAll(response[:cut], "\r", ""), "\n\n")-max(0, cut-len(response)+1)]
		if !slices.Equal(got, want) || done != (err == nil) || !done && !errors.Is(err, errCut) {
			t.Errorf("cut after %q: got %q, %v, want %q", response[:cut], got, err, want)
		}
	}
}

var errCut = errors.New("connection reset by peer")

// cutting is a server whose responses break after a text.
type cutting struct{ text string }

func (c cutting) RoundTrip(*http.Request) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader(c.text), iotest.ErrReader(errCut))
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body)}, nil
}

func TestTokens_TheServerDictatesTheDelay(t *testing.T) {
	t.Parallel()
	m := &model{before: func(w http.ResponseWriter, request int64) bool {
		switch request {
		case 1:
			fmt.Fprint(w, "retry: 150\n\n")
		case 2:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return request < 3
	}}
	tokens, _, delays := start(t, m)
	got, err := tokens.Collect(t.Context())
	if err != nil || !slices.Equal(got, answer(3)) {
		t.Errorf("%d tokens, %v", len(got), err)
	}
	if d := *delays; len(d) != 2 || d[0] < 150*time.Millisecond || d[1] < time.Second {
		t.Errorf("the delays were %v", d)
	}
}

func TestTokens_NoRetryCanHelp(t *testing.T) {
	m := &model{before: func(w http.ResponseWriter, _ int64) bool {
		http.Error(w, "no key", http.StatusUnauthorized)
		return true
	}}
	tokens, _, _ := start(t, m)
	_, err := tokens.Collect(t.Context())
	if err == nil || !strings.Contains(err.Error(), "401") || errors.Is(err, retry.ErrExhausted) || m.requests.Load() != 1 {
		t.Errorf("%v after %d requests", err, m.requests.Load())
	}
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// program asks anew after each start: an answer has no position.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	return llm.Tokens(http.DefaultClient, ask(args[0]), llm.Chat, silence, retry.Default).ForEach(ctx, func(token string) {
		_, number, _ := strings.Cut(token, "-")
		n, _ := strconv.Atoi(number)
		e.Apply(nil, n)
	})
}

func TestTokens_Killed(t *testing.T) {
	server := httptest.NewServer(&model{})
	defer server.Close()
	killed.Check(t, "A model's tokens", 3, 30, 100, "90: an answer begins again", server.URL)
}

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
