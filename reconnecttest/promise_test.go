package reconnecttest_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// The connections of CheckResume do what its comment says: to dial takes a millisecond, events come 100 ms apart, and a
// connection ends as it was broken.
func TestConnections(t *testing.T) {
	var mu sync.Mutex
	ends := map[error]int{nil: 0, syscall.ECONNRESET: 0, syscall.ECONNREFUSED: 0, syscall.ETIMEDOUT: 0}
	reconnecttest.CheckResume(t, numbers(12), func(connect connect) ints {
		return faultless(func(at int) ints {
			return func(ctx context.Context, yield func(int) bool) error {
				begun, next, stopped := time.Now(), at+1, false
				asked := begun.Add(time.Millisecond) // it has dialled
				err := connect(at)(ctx, func(v int) bool {
					// The last event is held back once, and comes again as a sign of life.
					if gap := time.Since(asked); v == next && v < 12 && gap != 100*time.Millisecond {
						t.Errorf("event %d came after %v", v, gap)
					}
					next = v + 1
					stopped = !yield(v)
					asked = time.Now()
					return !stopped
				})
				mu.Lock()
				defer mu.Unlock()
				known := stopped || ctx.Err() != nil
				for end := range ends {
					if !known && errors.Is(err, end) {
						ends[end]++
						known = true
					}
				}
				if took := time.Since(begun); !known || errors.Is(err, syscall.ECONNREFUSED) && took != time.Millisecond {
					t.Errorf("a connection ended with %v after %v", err, took)
				}
				return err
			}
		})
	})
	for end, n := range ends {
		if n == 0 && end != syscall.ETIMEDOUT { // Timeout is shorter
			t.Errorf("no connection ended with %v", end)
		}
	}
}

// A run has a bubble and a Run of its own, and a dial takes a millisecond.
func TestRuns(t *testing.T) {
	bubbles := map[int]bool{}
	report := reconnecttest.Check(t, func() reconnecttest.Run[string] {
		id := goroutine.Current().Bubble
		if id == 0 || bubbles[id] {
			t.Errorf("a Run in bubble %d, after %d others", id, len(bubbles))
		}
		bubbles[id] = true
		return reconnecttest.Run[string]{Serve: serveLines(3), Client: func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			return following(ctx, func(ctx context.Context, network, addr string) (net.Conn, error) {
				begun := time.Now()
				conn, err := dial(ctx, network, addr)
				if took := time.Since(begun); (err == nil || errors.Is(err, syscall.ECONNREFUSED)) && took != time.Millisecond {
					t.Errorf("a dial took %v", took)
				}
				return conn, err
			}, got)
		}}
	})
	if len(bubbles) < report.Scenarios {
		t.Errorf("%d runs for %d scenarios", len(bubbles), report.Scenarios)
	}
}

// A fault is over in ten minutes, not later.
func TestTenMinutes(t *testing.T) {
	for wait, want := range map[time.Duration]bool{10*time.Minute - 2*time.Second: false, 10*time.Minute + 5*time.Second: true} {
		var first reconnecttest.Finding
		reconnecttest.CheckResume(t, numbers(12), func(connect connect) ints {
			return func(ctx context.Context, yield func(int) bool) error {
				at := 0
				return handWritten(connect, &at, nothing, func(v int) { at = v }, func(ctx context.Context, _ error) {
					select {
					case <-ctx.Done():
					case <-time.After(wait):
					}
				})(ctx, yield)
			}
		}, reconnecttest.OnFinding(func(f reconnecttest.Finding) {
			if first.Where == "" {
				first = f
			}
		}))
		if found := first.Kind == prove.Away && strings.HasPrefix(first.Where, "the connection is cut before"); found != want {
			t.Errorf("a wait of %v: got first %s: %s", wait, first.Kind, first)
		}
	}
}
