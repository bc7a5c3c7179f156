package websocket_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	socket "github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/websocket"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
)

const silence = 200 * time.Millisecond

// accept accepts a connection, and returns the event after which the client subscribes.
func accept(ctx context.Context, w http.ResponseWriter, r *http.Request) (conn *socket.Conn, after int, err error) {
	if conn, err = socket.Accept(w, r, nil); err != nil {
		return nil, 0, err
	}
	var request struct {
		After int `json:"subscribe_after"`
	}
	if err = wsjson.Read(ctx, conn, &request); err != nil {
		_ = conn.CloseNow()
	}
	return conn, request.After, err
}

// feed serves numbered events forever, with a heartbeat at each tenth, and counts its connections. If refuse returns a
// close code, that closes the connection; if it returns an HTTP status, that fails the handshake.
func feed(t *testing.T, connections *atomic.Int64, refuse func(n int64) int) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := refuse(connections.Add(1))
		if code >= 400 && code < 600 {
			http.Error(w, "no", code)
			return
		}
		conn, after, err := accept(r.Context(), w, r)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		ctx := conn.CloseRead(r.Context())
		for id := after + 1; ; id++ {
			if code != 0 && id > after+50 {
				_ = conn.Close(socket.StatusCode(code), "bye")
				return
			}
			if id%10 == 0 && wsjson.Write(ctx, conn, websocket.Event{}) != nil ||
				wsjson.Write(ctx, conn, websocket.Event{ID: id, Data: "tick"}) != nil {
				return
			}
			if id%50 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// A heartbeat ends an outage.
func TestEvents_Idle(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if connections.Add(1) == 1 {
			http.Error(w, "restarting", http.StatusServiceUnavailable)
			return
		}
		if conn, _, err := accept(r.Context(), w, r); err == nil {
			defer conn.CloseNow()
			ctx := conn.CloseRead(r.Context())
			_ = wsjson.Write(ctx, conn, websocket.Event{})
			<-ctx.Done()
		}
	}))
	defer server.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	p := proxy.Policy.With(retry.OnRecovered(func(context.Context, retry.Recovery) { stop() }))
	url := "ws" + strings.TrimPrefix(server.URL, "http")
	if _, err := websocket.Events(nil, url, 0, time.Hour, p, nil).Collect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("not recovered: %v", err)
	}
}

func TestEvents_Permanent(t *testing.T) {
	lost := func(code int, _ string) bool { return code == 4003 || code == http.StatusForbidden }
	for _, c := range []struct {
		code      int
		permanent func(int, string) bool
		is        bool
	}{
		{int(socket.StatusUnsupportedData), nil, true},
		{int(socket.StatusInvalidFramePayloadData), nil, true},
		{int(socket.StatusMandatoryExtension), nil, true},
		{int(socket.StatusPolicyViolation), nil, false}, // "rate limited, retry later"
		{4000, nil, false},
		{4009, nil, false},
		{4201, nil, false},
		{http.StatusUnauthorized, nil, false},
		{http.StatusNotFound, nil, false},
		{4003, lost, true},
		{http.StatusForbidden, lost, true},
		{4000, lost, false},
	} {
		var connections atomic.Int64
		server := feed(t, &connections, func(n int64) int {
			if n > 1 {
				return 0
			}
			return c.code
		})
		url := "ws" + strings.TrimPrefix(server.URL, "http")
		events, err := websocket.Events(nil, url, 0, time.Minute, proxy.Policy, c.permanent).Take(60).Collect(t.Context())
		if is := connections.Load() == 1; is != c.is || is != (err != nil) || !is && len(events) != 60 {
			t.Errorf("%d: %d events, %v after %d connections", c.code, len(events), err, connections.Load())
		}
	}
}

// A refused handshake dictates the delay.
func TestEvents_RetryAfter(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			var dials []time.Duration
			start := time.Now()
			client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				dials = append(dials, time.Since(start))
				return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"3"}}, Body: http.NoBody}, nil
			})}
			policy := retry.New(backoff.Constant(100*time.Millisecond), retry.Limit(2))
			_, err := websocket.Events(client, "ws://feed/", 0, time.Minute, policy, nil).Collect(t.Context())
			if !errors.Is(err, retry.ErrLimit) || !slices.Equal(dials, []time.Duration{0, 3 * time.Second, 6 * time.Second}) {
				t.Errorf("%d: dials at %v, %v", status, dials, err)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The recipe comes back from every break of its connection, before and in the middle of each of the server's writes.
func TestEvents_ComeBack(t *testing.T) {
	policy := retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Full), retry.ResetAfterItems(1))
	reconnecttest.Check(t, func() reconnecttest.Run[int] {
		return reconnecttest.Run[int]{Serve: twelveEvents, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(int)) error {
			client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
			return websocket.Events(client, "ws://127.0.0.1/", 0, 30*time.Second, policy, nil).ForEach(ctx, func(e websocket.Event) { got(e.ID) })
		}}
	})
}

// twelveEvents serves the events after the one that the client names, 100 ms apart, and then heartbeats.
func twelveEvents(ctx context.Context, l net.Listener) {
	check.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, after, err := accept(ctx, w, r)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		defer context.AfterFunc(ctx, func() { _ = conn.CloseNow() })()
		reading := conn.CloseRead(ctx)
		for n := after + 1; ; n++ {
			e := websocket.Event{ID: n, Data: fmt.Sprint("event ", n)}
			time.Sleep(100 * time.Millisecond)
			if n > 12 {
				e = websocket.Event{}
				time.Sleep(10 * time.Second)
			}
			if wsjson.Write(reading, conn, e) != nil {
				return
			}
		}
	}))
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the id of each event.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := 0
	e.Start(&at)
	return killed.Follow(ctx, e, 1000, websocket.Events(nil, args[0], at, silence, proxy.Policy, nil), func(v websocket.Event) (int, any) { return v.ID, v.ID })
}

func TestEvents_Killed(t *testing.T) {
	var connections atomic.Int64
	server := feed(t, &connections, func(int64) int { return 0 })
	killed.Check(t, "WebSocket", 10, 75, 1000, "0", "ws"+strings.TrimPrefix(server.URL, "http"))
}
