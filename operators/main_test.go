package operators_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/timer"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestMain(m *testing.M) { check.Main(m) }

const ms = time.Millisecond

var (
	bubble    = check.Bubble
	recovered = check.Recovered
	exits     = check.Exits

	errBoom  = errors.New("boom")
	errCause = errors.New("the cause of the cancellation")
)

// session runs f as a subtest on virtual time.
func session(t *testing.T, name string, f func(s *streamtest.Session)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { streamtest.Run(t, f) })
}

// cold is the stream of a marble diagram.
func cold(s *streamtest.Session, diagram string) strs {
	return streamtest.Cold[string](s, diagram).Stream
}

// inner returns the function that makes a stream of each value v: x of the diagram is v, and X is v in upper case.
func inner(s *streamtest.Session, diagram string) func(v string) strs {
	return spelled(cold(s, diagram))
}

// spelled is inner of a stream that the test looks at.
func spelled(x strs) func(v string) strs {
	return func(v string) strs {
		return operators.Map(x, func(x string) string {
			if x == "X" {
				return strings.ToUpper(v)
			}
			return v
		})
	}
}

// expectBoom checks that f panics with errBoom, or with an error that wraps it.
func expectBoom(t testing.TB, f func()) {
	t.Helper()
	v := recovered(f)
	if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
		t.Errorf("panicked with %v, want boom", v)
	}
}

// expectCancelled runs st during that time, and checks that it has returned at the end of it.
func expectCancelled[T any](s *streamtest.Session, st stream.Stream[T], during, want string) {
	s.T().Helper()
	var end error
	src := streamtest.Probe(s, st.OnEnd(func(err error) { end = err }))
	streamtest.ExpectDuring(s, src.Stream, during).ToBe(want)
	src.Subscriptions("^" + during[1:])
	if !errors.Is(end, context.Canceled) {
		s.T().Errorf("it ended with %v, want the context's", end)
	}
}

// What is tested with marbles is not tested with the scripts below. They are for a consumer that is busy, for
// benbjohnson's mock clock, and for values that are no letters.

// fromScript is the stream that a script says: "20a 50b 60|" yields a after 20 ms and b after 50 ms and ends after 60
// ms, "#" instead of "|" fails with errBoom, and a script without either waits forever. Times are those since the run
// began; what comes too late, because the consumer was busy, comes at once.
func fromScript(script string) stream.Stream[string] {
	return func(ctx context.Context, yield func(string) bool) error {
		wait := timer.New(stream.ClockFrom(ctx))
		start := wait.Now()
		for word := range strings.FieldsSeq(script) {
			at, what := cut(word)
			if err := wait.Wait(ctx, at-wait.Now().Sub(start)); err != nil {
				return err
			}
			switch what {
			case "|":
				return nil
			case "#":
				return errBoom
			}
			if !yield(what) {
				return nil
			}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// cut returns the time and the rest of a word like "20a".
func cut(word string) (time.Duration, string) {
	digits := len(word) - len(strings.TrimLeft(word, "0123456789"))
	at, err := strconv.Atoi(word[:digits])
	if err != nil {
		panic("no time in " + word)
	}
	return time.Duration(at) * ms, word[digits:]
}

// play runs s and returns what it does as such a script; "!" is errCause, and other errors are written out.
func play[T any](ctx context.Context, s stream.Stream[T]) string {
	return playWith(ctx, s, func(T) bool { return true })
}

// playWith is play with a consumer that may take its time, and stop, which is "<".
func playWith[T any](ctx context.Context, s stream.Stream[T], yield func(T) bool) string {
	now := stream.ClockFrom(ctx).Now
	start := now()
	var script []string
	note := func(v any) {
		at := now().Sub(start)
		stamp := strconv.FormatInt(at.Milliseconds(), 10)
		if at%ms != 0 {
			stamp = at.String() + ":"
		}
		script = append(script, fmt.Sprint(stamp, v))
	}
	stopped := false
	err := s(ctx, func(v T) bool {
		note(fmt.Sprint(v))
		stopped = !yield(v)
		return !stopped
	})
	switch {
	case err == nil && stopped:
		note("<")
	case err == nil:
		note("|")
	case errors.Is(err, errBoom):
		note("#")
	case errors.Is(err, errCause):
		note("!")
	default:
		note("# " + err.Error())
	}
	return strings.Join(script, " ")
}

// expect plays s and compares.
func expect[T any](t *testing.T, s stream.Stream[T], want string) {
	t.Helper()
	expectBusy(t, s, 0, want)
}

// expectBusy is expect with a consumer that takes so long for each value.
func expectBusy[T any](t *testing.T, s stream.Stream[T], busy time.Duration, want string) {
	t.Helper()
	if got := playWith(t.Context(), s, func(T) bool { time.Sleep(busy); return true }); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// cancelAt returns a context that ends then, with errCause.
func cancelAt(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(d, func() { cancel(errCause) })
	return ctx
}

// expectValues runs s and checks its values and the error that ended it.
func expectValues[T comparable](t *testing.T, s stream.Stream[T], want []T, end error) {
	t.Helper()
	got, err := s.Collect(t.Context())
	if !slices.Equal(got, want) || !errors.Is(err, end) {
		t.Errorf("got %v, %v, want %v, %v", got, err, want, end)
	}
}

func first(a, _ string) string { return a }

func flat(s stream.Stream[[]int]) stream.Stream[int] {
	return operators.ConcatMap(s, stream.FromSlice[int])
}

// expectUntil plays s under a context that ends after d, with errCause.
func expectUntil[T any](t *testing.T, d time.Duration, s stream.Stream[T], want string) {
	t.Helper()
	if got := play(cancelAt(t, d), s); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// expectOnMock plays s on a mock clock that is moved on by a millisecond at a time, until the run is over.
func expectOnMock[T any](t *testing.T, s stream.Stream[T], want string) {
	t.Helper()
	mock := clock.NewMock()
	ctx := stream.WithClock(t.Context(), mock)
	done := make(chan string, 1)
	go func() { done <- play(ctx, s) }()
	for range 10_000 {
		synctest.Wait()
		select {
		case got := <-done:
			if got != want {
				t.Errorf("on the mock clock: got  %s\nwant %s", got, want)
			}
			return
		default:
			mock.Add(ms)
		}
	}
	t.Fatal("the run is not over after 10 s of the mock clock")
}

// expectBoth checks s on the system's clock and on a mock.
func expectBoth[T any](t *testing.T, s stream.Stream[T], want string) {
	t.Helper()
	expect(t, s, want)
	expectOnMock(t, s, want)
}

// returns notes in *n how often the runs of s have returned.
func returns[T any](s stream.Stream[T], n *int) stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		defer func() {
			counting.Lock()
			*n++
			counting.Unlock()
		}()
		return s(ctx, yield)
	}
}

var counting sync.Mutex

// counted yields 1 to n and notes in made how far it has come.
func counted(n int, made *atomic.Int64) stream.Stream[int] {
	return stream.Range(1, n).Tap(func(v int) { made.Store(int64(v)) })
}

// waitingForRetry fails with errBoom at once and waits for its retry.
var waitingForRetry = stream.Fail[string](errBoom).RetryWhen(stream.RetryHandlerFunc(
	func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		return failures.Delay(time.Hour)
	}))
