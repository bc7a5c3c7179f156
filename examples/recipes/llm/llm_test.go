package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
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
