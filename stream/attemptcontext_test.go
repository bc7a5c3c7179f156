package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// attempts returns the contexts of the attempts of a stream that fails n times, and what look did with each during it.
func attempts(ctx context.Context, n int, look func(context.Context)) {
	runs := 0
	_, _ = stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
		look(ctx)
		if runs++; runs <= n {
			return numbered(runs)
		}
		return nil
	}).RetryWhen(atOnce).Collect(ctx)
}

func TestAnAttemptsContextEndsWithTheAttempt(t *testing.T) {
	type key struct{}
	for name, use := range map[string]func(context.Context){
		"not looked at":    func(context.Context) {},
		"Done was called":  func(ctx context.Context) { ctx.Done() },
		"a child was made": func(ctx context.Context) { _, cancel := context.WithCancel(ctx); t.Cleanup(cancel) },
	} {
		t.Run(name, func(t *testing.T) {
			var seen []context.Context
			attempts(context.WithValue(t.Context(), key{}, 1), 2, func(ctx context.Context) {
				use(ctx)
				if ctx.Err() != nil || context.Cause(ctx) != nil || ctx.Value(key{}) != 1 {
					t.Errorf("during the attempt: %v, %v, %v", ctx.Err(), context.Cause(ctx), ctx.Value(key{}))
				}
				seen = append(seen, ctx)
			})
			for _, ctx := range seen {
				if ctx.Err() != context.Canceled || context.Cause(ctx) != context.Canceled {
					t.Errorf("after it: %v, %v; want Canceled", ctx.Err(), context.Cause(ctx))
				}
				select {
				case <-ctx.Done():
				default:
					t.Error("after it: Done is open")
				}
				if ctx.Value(key{}) != 1 {
					t.Error("after it: the value is gone")
				}
			}
		})
	}
}

func TestAnAttemptsContextEndsWithTheSubscribers(t *testing.T) {
	reason := errors.New("going home")
	for name, use := range map[string]func(context.Context){
		"not looked at":   func(context.Context) {},
		"Done was called": func(ctx context.Context) { ctx.Done() },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		attempts(ctx, 0, func(ctx context.Context) {
			use(ctx)
			child, stop := context.WithCancel(ctx)
			defer stop()
			cancel(reason)
			<-ctx.Done()
			if ctx.Err() != context.Canceled || context.Cause(ctx) != reason || context.Cause(child) != reason {
				t.Errorf("%s: %v, %v, %v; want Canceled and the cause", name, ctx.Err(), context.Cause(ctx), context.Cause(child))
			}
		})
	}
}

func TestAnAttemptsContextHasAName(t *testing.T) {
	attempts(context.Background(), 0, func(ctx context.Context) {
		done := make(chan struct{})
		go func() { ctx.Done(); close(done) }() // concurrently with the printing, for the race detector
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		if got, want := fmt.Sprint(child), "context.Background.Attempt.WithCancel"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := fmt.Sprint(ctx), "context.Background.Attempt"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		<-done
	})
}

// A context that has ended stays as it is, whatever happens to the one it was made from.
func TestWhatEndedAnAttemptsContextFirstCounts(t *testing.T) {
	for name, use := range map[string]func(context.Context){
		"not looked at":   func(context.Context) {},
		"Err was called":  func(ctx context.Context) { _ = ctx.Err() },
		"Done was called": func(ctx context.Context) { ctx.Done() },
	} {
		bubble(t, name, func(t *testing.T) {
			expectEnd := func(ctx context.Context, end, cause error) {
				t.Helper()
				child, stop := context.WithCancel(ctx)
				defer stop()
				if ctx.Err() != end || context.Cause(ctx) != cause || context.Cause(child) != cause {
					t.Errorf("%v, %v, %v; want %v and %v", ctx.Err(), context.Cause(ctx), context.Cause(child), end, cause)
				}
			}
			deadline, cancel := context.WithTimeoutCause(t.Context(), time.Second, errCause)
			defer cancel()
			var over, cut context.Context
			attempts(deadline, 0, func(ctx context.Context) { use(ctx); over = ctx })
			use(over)
			attempts(deadline, 0, func(ctx context.Context) { use(ctx); cut = ctx; time.Sleep(2 * time.Second) })
			for range 2 {
				expectEnd(over, context.Canceled, context.Canceled)
				expectEnd(cut, context.DeadlineExceeded, errCause)
			}
		})
	}
}

func TestWhatAnAttemptLeavesRunningIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := []stream.Stream[int]{
			stream.Range(0, 1000),
			stream.Of(1).Repeat(1000),
			stream.Range(0, 1000).Retry(1), // an attempt inside an attempt
			stream.Range(0, 1000).Retry(1).Retry(1),
		}
		left := make(chan error, 2*len(long))
		attempts(context.Background(), 1, func(ctx context.Context) {
			for _, s := range long {
				go func() { left <- s.ForEach(ctx, func(int) { time.Sleep(time.Second) }) }()
			}
		})
		for range cap(left) {
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want Canceled", err)
			}
		}
	})
}

// A source that runs on under the context of an attempt that is over delivers nothing more.
func TestWhatRunsOnAfterAnAttemptDeliversNothingMore(t *testing.T) {
	for name, source := range map[string]stream.Stream[int]{
		"FromSlice": stream.FromSlice([]int{1, 2, 3}),
		"Range":     stream.Range(1, 3),
		"FromSeq":   stream.FromSeq(slices.Values([]int{1, 2, 3})),
	} {
		t.Run(name, func(t *testing.T) {
			over, ended := make(chan struct{}), make(chan error)
			var got []int
			attempts(context.Background(), 0, func(ctx context.Context) {
				begun := make(chan struct{})
				go func() {
					ended <- source(ctx, func(v int) bool {
						if got = append(got, v); v == 1 {
							close(begun)
							<-over
						}
						return true
					})
				}()
				<-begun
			})
			close(over)
			if err := <-ended; !errors.Is(err, context.Canceled) || !slices.Equal(got, []int{1}) {
				t.Errorf("got %v, %v, want 1 and Canceled", got, err)
			}
		})
	}
}

// Err alone says that the attempt is over, though nobody has asked for Done.
func TestErrAfterAnAttempt(t *testing.T) {
	var seen context.Context
	attempts(context.Background(), 0, func(ctx context.Context) { seen = ctx })
	if err := seen.Err(); err != context.Canceled {
		t.Errorf("after the attempt: %v, want Canceled", err)
	}
}
