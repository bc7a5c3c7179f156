package endpoint_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/endpoint"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

func TestMain(m *testing.M) { check.Main(m) }

var policy = retry.New(backoff.Constant(time.Millisecond), retry.Limit(3), retry.ResetAfterItems(1),
	retry.WithBudget(retry.NewBudget(10, 1, 0.1)))

// call is a call of one of the hosts.
func call(ctx context.Context, hosts *endpoint.Hosts) (string, error) {
	return retry.Do(ctx, policy, func(ctx context.Context) (string, error) {
		host, failed := hosts.Pick()
		body, err := get(ctx, host)
		if err != nil {
			failed()
		}
		return body, err
	})
}

// feed is a feed from one of the hosts. A host has failed if its connection has brought nothing.
func feed(hosts *endpoint.Hosts) stream.Stream[int] {
	return operators.Resume(0, func(at int) stream.Stream[int] {
		return stream.Defer(func(context.Context) stream.Stream[int] {
			host, failed := hosts.Pick()
			worked := false
			return numbers(host, at).Tap(func(int) { worked = true }).OnEnd(func(err error) {
				if err != nil && !worked {
					failed()
				}
			})
		})
	}, func(at, v int) int { return v }, policy)
}

func get(ctx context.Context, host string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/", nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", errors.New(response.Status)
	}
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func numbers(host string, at int) stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/feed?after=%d", host, at), nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		for body := bufio.NewReader(response.Body); ; {
			line, err := body.ReadString('\n')
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(line[:len(line)-1])
			if err != nil || !yield(n) {
				return err
			}
		}
	}
}

// server is a host that counts its requests. A dead one closes the connection, and a sick one responds 503.
type server struct {
	requests   atomic.Int64
	dead, sick atomic.Bool
	host       string
}

func start(t *testing.T) *server {
	s := &server{}
	l := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		switch {
		case s.dead.Load():
			panic(http.ErrAbortHandler)
		case s.sick.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/feed": // ten numbers, and then the connection breaks
			after, _ := strconv.Atoi(r.FormValue("after"))
			for n := after + 1; n <= after+10; n++ {
				fmt.Fprintln(w, n)
			}
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		default:
			fmt.Fprint(w, "the host")
		}
	}))
	t.Cleanup(l.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	s.host = l.Listener.Addr().String()
	return s
}

func three(t *testing.T) (*endpoint.Hosts, [3]*server) {
	s := [3]*server{start(t), start(t), start(t)}
	return endpoint.New(s[0].host, s[1].host, s[2].host), s
}

// counts checks how many requests each host has had.
func counts(t *testing.T, s [3]*server, want ...int64) {
	t.Helper()
	if got := []int64{s[0].requests.Load(), s[1].requests.Load(), s[2].requests.Load()}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v requests, want %v", got, want)
	}
}

func TestCalls(t *testing.T) {
	hosts, servers := three(t)
	calls := func() {
		t.Helper()
		for range 100 {
			if body, err := call(t.Context(), hosts); body != "the host" || err != nil {
				t.Fatal(body, err)
			}
		}
	}
	servers[0].dead.Store(true)
	calls()
	counts(t, servers, 1, 100, 0) // one request to the dead host, in 100 calls
	servers[1].sick.Store(true)
	calls()
	counts(t, servers, 1, 101, 100)
	servers[2].sick.Store(true)
	servers[0].dead.Store(false)
	calls()
	counts(t, servers, 101, 101, 101)
}

func TestFeed(t *testing.T) {
	hosts, servers := three(t)
	servers[0].dead.Store(true)
	got, err := feed(hosts).Take(1000).Collect(t.Context())
	if err != nil || len(got) != 1000 || got[999] != 1000 {
		t.Errorf("got %d numbers, %v", len(got), err)
	}
	counts(t, servers, 1, 100, 0) // 100 connections
}

func TestClient(t *testing.T) {
	hosts, servers := three(t)
	servers[0].sick.Store(true)
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	client := http.Client{Transport: retryhttp.NewTransport(endpoint.Transport{Hosts: hosts, Base: base}, policy)}
	for i := range 100 {
		response, err := client.Get("http://any/")
		check.Must(t, err)
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("call %d: %s", i, response.Status)
		}
	}
	counts(t, servers, 1, 100, 0)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	request, _ := http.NewRequestWithContext(cancelled, http.MethodGet, "http://any/", nil)
	if response, err := client.Do(request); err == nil {
		response.Body.Close()
		t.Error("a cancelled request has a response")
	}
	if host, _ := hosts.Pick(); host != servers[1].host {
		t.Error("a cancelled request is no failure of its host")
	}
}

// Attempts that fail together go on to the next host once.
func TestTogether(t *testing.T) {
	hosts := endpoint.New("a", "b", "c")
	_, first := hosts.Pick()
	_, second := hosts.Pick()
	first()
	second()
	if host, _ := hosts.Pick(); host != "b" {
		t.Errorf("got host %s, want b", host)
	}
}
