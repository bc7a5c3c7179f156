package reconnecttest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/stream"
)

// A mutex that is held during a wait freezes a bubble. That is reported with the goroutine, and the next group begins.
func TestCheckResume_Freeze(t *testing.T) {
	if !freezes(t) {
		return
	}
	f := &faults{T: t}
	reconnecttest.CheckResume(f, numbers(3), func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			var mu sync.Mutex
			return faultless(connect)(ctx, func(v int) bool {
				if ctx.Err() != nil || !yield(v) {
					return false
				}
				if ctx.Err() != nil { // the context has ended in the delivery
					mu.Lock()
					go func() { time.Sleep(time.Second); mu.Unlock() }()
					mu.Lock()
				}
				return true
			})
		}
	})
	if len(f.text) != 1 || !strings.Contains(f.text[0], "the context ends in the delivery of 1: this cannot be judged") ||
		!strings.Contains(f.text[0], "TestCheckResume_Freeze") || !strings.Contains(f.text[0], "reconnecttest/reconnect_test.go:") {
		t.Errorf("got %s", strings.Join(f.text, "\n"))
	}
}

// A *testing.T has the faults on the subtest of the group.
func TestCheckResume_FaultsOnSubtests(t *testing.T) {
	var names []string
	passed := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "Feed", F: func(t *testing.T) {
		reconnecttest.CheckResume(t, numbers(3), func(connect connect) ints { return connect(0) })
		names = append(names, fmt.Sprint(t.Failed()))
	}}})
	if passed || len(names) == 0 || slices.Contains(names, "false") {
		t.Errorf("passed: %v, failed: %v", passed, names)
	}
}

func TestCheckResume_NothingToCompare(t *testing.T) {
	for _, test := range []struct {
		name   string
		client func(connect) ints
		want   string
	}{
		{"nothing", func(connect connect) ints { return connect(0).IgnoreElements() }, "undisturbed: it delivered nothing, on 1 connection"},
		{"never connects", func(connect) ints { return stream.Never[int]() }, "undisturbed: it delivered nothing, on 0 connections; does it connect with the function that it is given?"},
		{"fails", func(connect) ints { return stream.Fail[int](context.DeadlineExceeded) }, `undisturbed: it ended with the error "context deadline exceeded"`},
		{"part", func(connect connect) ints { return connect(0).Take(2).Concat(stream.Never[int]()) }, "undisturbed: it delivered 2 values and was not done in an hour; does it take all that comes, and does the server come to an end?"},
		{"panics", func(connect) ints { return func(context.Context, func(int) bool) error { panic("boo") } }, "undisturbed: it panicked: boo\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &faults{T: t}
			reconnecttest.CheckResume(f, numbers(3), test.client)
			if len(f.text) != 1 || !strings.Contains(f.text[0], test.want) {
				t.Errorf("got %q, want %q", f.text, test.want)
			}
		})
	}
}

// A panic after a break is a fault, and the client's stack is shown.
func TestCheckResume_Panic(t *testing.T) {
	f := &faults{T: t}
	reconnecttest.CheckResume(f, numbers(3), func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			err := connect(0)(ctx, yield)
			if ctx.Err() == nil {
				panic(err)
			}
			return err
		}
	})
	if len(f.text) == 0 || !strings.Contains(f.text[0], "it panicked: read tcp 127.0.0.1:80: read: connection reset by peer\n") ||
		!strings.Contains(f.text[0], "reconnect_test.go:") {
		t.Errorf("got %q", f.text)
	}
}

func TestCheckResume_PanicOfASecondRun(t *testing.T) {
	f := &faults{T: t}
	reconnecttest.CheckResume(f, numbers(3), func(connect connect) ints {
		runs := 0
		return func(ctx context.Context, yield func(int) bool) error {
			if runs++; runs == 2 {
				panic("boo")
			}
			return faultless(connect)(ctx, yield)
		}
	})
	if len(f.text) != 1 || !strings.Contains(f.text[0], "the consumer stops at 1: it panicked: boo\n") {
		t.Errorf("got %q", f.text)
	}
}

func TestCheckResume_Arguments(t *testing.T) {
	empty, same, negative, noFrom, outside := numbers(0), numbers(3), numbers(3), numbers(3), numbers(3)
	same.Events[2] = 1
	negative.Every = -1
	noFrom.From = nil
	outside.From = func(int) int { return 4 }
	for _, test := range []struct {
		want string
		run  func()
	}{
		{"reconnecttest: CheckResume: feed.Events is empty", func() { reconnecttest.CheckResume(t, empty, faultless) }},
		{"reconnecttest: CheckResume: feed.Events[0] and [2] are equal, want all different", func() { reconnecttest.CheckResume(t, same, faultless) }},
		{"reconnecttest: CheckResume: feed.Every is -1ns, want at least 0", func() { reconnecttest.CheckResume(t, negative, faultless) }},
		{"reconnecttest: CheckResume: feed.From is nil", func() { reconnecttest.CheckResume(t, noFrom, faultless) }},
		{"reconnecttest: CheckResume: client is nil", func() { reconnecttest.CheckResume[int, int, int](t, numbers(3), nil) }},
		{"reconnecttest: CheckResume: t is a struct { testing.TB }, want a *testing.T or a struct that embeds one",
			func() { reconnecttest.CheckResume(struct{ testing.TB }{t}, numbers(3), faultless) }},
		{"reconnecttest: CheckResume: called inside a synctest bubble; it makes bubbles of its own, so call it from the test itself", func() {
			var thrown any
			synctest.Test(t, func(t *testing.T) {
				defer func() { thrown = recover() }()
				reconnecttest.CheckResume(t, numbers(3), faultless)
			})
			panic(thrown)
		}},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != test.want {
					t.Errorf("got the panic %q, want %q", got, test.want)
				}
			}()
			test.run()
		}()
	}
	f := &faults{T: t}
	reconnecttest.CheckResume(f, outside, faultless)
	if len(f.text) != 1 || !strings.Contains(f.text[0], "reconnecttest: CheckResume: feed.From(0) is 4, want 0 to 3") {
		t.Errorf("got %q", f.text)
	}
}

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
		id := virtual.Current().Bubble
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
