// Package consul shows faults of hashicorp/consul/api v1.34.4: silent connections, repeated calls of the handler, no
// rate limit, no jitter.
//
//  1. A blocking query has no timeout on the client's side, although the server answers after 5m19s at the latest
//     (watch/plan.go:78). A connection that falls silent (a NAT, a proxy, an agent that hangs) is waited for until
//     the kernel gives it up, or until the plan is stopped. To mend it: a context with the wait, a sixteenth of it,
//     and some seconds.
//
//  2. After an error the plan forgets its index, and then takes the first answer for a change, although it has the
//     last result (plan.go:91, :119): the handler is called again with the same value after each failed poll. The
//     documents say "when an update is detected". To mend it: compare with lastResult there too.
//
//  3. Requests that succeed follow each other at once. The documents of blocking queries ask clients for a rate
//     limit, a token bucket with a burst of 2. To mend it: golang.org/x/time/rate in the loop.
//
//  4. Waits are 5 s times the square of the failures, without a random part (plan.go:95): when a server comes back,
//     all its watches ask at the same moments.
package consul

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/consul/api"
	"github.com/hashicorp/consul/api/watch"
	"github.com/hashicorp/go-hclog"
)

// visit runs a plan that watches a key, over connections that serve answers, for a time, and returns when it dialled,
// and how often its handler was called.
func visit(t *testing.T, lasts time.Duration, serve func(dial int, c net.Conn)) (dials []time.Time, calls int) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var conns []net.Conn
		config := api.DefaultConfig()
		config.Address = "127.0.0.1:8500"
		config.Transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			dials = append(dials, time.Now())
			if serve == nil {
				return nil, syscall.ECONNREFUSED
			}
			client, server := net.Pipe()
			conns = append(conns, server)
			go serve(len(dials), server)
			return client, nil
		}
		client, err := api.NewClient(config)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := watch.Parse(map[string]any{"type": "key", "key": "a"})
		if err != nil {
			t.Fatal(err)
		}
		plan.Handler = func(uint64, any) { calls++ }
		ended := make(chan error, 1)
		go func() { ended <- plan.RunWithClientAndHclog(client, hclog.NewNullLogger()) }()
		time.Sleep(lasts)
		plan.Stop()
		config.Transport.CloseIdleConnections()
		<-ended
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return dials, calls
}

const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: 7\r\nContent-Length: 84\r\n\r\n" +
	`[{"LockIndex":0,"Key":"a","Flags":0,"Value":"YQ==","CreateIndex":7,"ModifyIndex":7}]`

func TestSilentConnection(t *testing.T) {
	dials, _ := visit(t, time.Hour, func(_ int, c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	if len(dials) == 1 {
		t.Error("a blocking query, which the server answers after 5m19s at the latest, has had no answer for an hour; the watch has not asked again")
	}
}

func TestHandlerIsCalledWhenTheValueChanges(t *testing.T) {
	_, calls := visit(t, time.Minute, func(dial int, c net.Conn) {
		in := make([]byte, 4096)
		if dial%2 == 0 { // every second connection breaks before an answer
			_ = c.Close()
			return
		}
		_, _ = c.Read(in)
		_, _ = io.WriteString(c, answer)
		_, _ = c.Read(in)
		_ = c.Close()
	})
	if calls > 1 {
		t.Errorf("the handler was called %d times with the same value", calls)
	}
}

func TestRateLimit(t *testing.T) {
	dials, _ := visit(t, time.Second, func(dial int, c net.Conn) {
		in := make([]byte, 4096)
		_, _ = c.Read(in)
		time.Sleep(time.Millisecond)
		_, _ = io.WriteString(c, strings.Replace(answer, "Index: 7", fmt.Sprint("Index: ", dial), 1))
		_ = c.Close()
	})
	if len(dials) > 100 {
		t.Errorf("%d connections in a second, to a server that closes each after its answer", len(dials))
	}
}

func TestJitter(t *testing.T) {
	var waits [2][]time.Duration
	for i := range waits {
		dials, _ := visit(t, time.Hour, nil)
		for k := 1; k < len(dials); k++ {
			waits[i] = append(waits[i], dials[k].Sub(dials[k-1]))
		}
	}
	if slices.Equal(waits[0], waits[1]) {
		t.Errorf("two watches whose connections are refused both wait for exactly %v, and so on", waits[0][:8])
	}
}
