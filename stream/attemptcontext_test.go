package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
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

// outages notes the outages of a policy that retries after a second.
type outages struct{ notes []string }

func (o *outages) note(format string, args ...any) {
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

func (o *outages) policy(opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Constant(time.Second), retry.OnOutage(func(_ context.Context, err error) func() {
		o.note("down: %v", err)
		return func() { o.note("up") }
	}), retry.OnRecovered(func(_ context.Context, r retry.Recovery) {
		o.note("recovered after %d, %v: %v", r.Retries, r.Down, r.Last)
	})).With(opts...)
}

// source makes a source whose n-th attempt is the n-th function, which may call Works.
func source(attempts ...func(ctx context.Context, yield func(int) bool) error) stream.Stream[int] {
	n := 0
	return func(ctx context.Context, yield func(int) bool) error { n++; return attempts[n-1](ctx, yield) }
}

func TestWorks(t *testing.T) {
	fails := func(context.Context, func(int) bool) error { return errBoom }
	works := func(ctx context.Context, _ func(int) bool) error { stream.Works(ctx); return errBoom }
	type run = func(context.Context, func(int) bool) error
	ends := func(context.Context, func(int) bool) error { return nil }
	for name, c := range map[string]struct {
		attempts []run
		opts     []retry.Option
		want     []string
	}{
		"ends the outage at once": {
			[]run{fails, func(ctx context.Context, yield func(int) bool) error {
				time.Sleep(time.Second)
				stream.Works(ctx)
				stream.Works(ctx)
				time.Sleep(6 * time.Hour)
				yield(1)
				return nil
			}}, nil,
			[]string{"down: boom", "up", "recovered after 1, 2s: boom", "<nil>"},
		},
		"before any failure":                  {[]run{works, ends}, nil, []string{"down: boom", "up", "recovered after 1, 1s: boom", "<nil>"}},
		"a failure after it begins a new one": {[]run{fails, works, ends}, nil, []string{"down: boom", "up", "recovered after 1, 1s: boom", "down: boom", "up", "recovered after 1, 1s: boom", "<nil>"}},
		"is no progress": {
			[]run{fails, works, works}, []retry.Option{retry.Limit(2), retry.ResetAfterItems(1)},
			[]string{"down: boom", "up", "recovered after 1, 1s: boom", "down: boom", "up", "recovered after 1, 1s: boom",
				"retry: limit of 2 retries: 3 failures in 2s: boom"},
		},
		"on another goroutine": {
			[]run{fails, func(ctx context.Context, yield func(int) bool) error {
				heartbeats := stream.Interval(time.Second).Take(3).DropHeartbeats(func(time.Time) bool { return true })
				return stream.Never[time.Time]().Merge(heartbeats).TakeUntilDone(deadline(ctx, time.Minute))(ctx, func(time.Time) bool { return true })
			}}, nil,
			[]string{"down: boom", "up", "recovered after 1, 2s: boom", "<nil>"},
		},
		"after its attempt": {
			[]run{fails, func(ctx context.Context, _ func(int) bool) error {
				time.AfterFunc(time.Second/2, func() { stream.Works(ctx) })
				return errBoom
			}, ends}, nil,
			[]string{"down: boom", "up", "recovered after 2, 2s: boom", "<nil>"},
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var o outages
			_, err := source(c.attempts...).RetryWhen(o.policy(c.opts...)).Collect(t.Context())
			if o.note("%v", err); !slices.Equal(o.notes, c.want) {
				t.Errorf("got  %q\nwant %q", o.notes, c.want)
			}
		})
	}
}

// deadline returns a channel that is closed after d.
func deadline(ctx context.Context, d time.Duration) <-chan struct{} {
	done, cancel := context.WithTimeout(ctx, d)
	context.AfterFunc(done, cancel)
	return done.Done()
}

// An older failure is in no error after Works, also if the handler is no policy.
func TestWorks_OlderFailuresAreOver(t *testing.T) {
	for name, c := range map[string]struct {
		works bool
		end   error
	}{"works": {true, nil}, "does not": {false, nil}, "works, hot": {true, stream.ErrNotRestartable}, "does not, hot": {false, stream.ErrNotRestartable}} {
		bubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("late"))
			defer cancel()
			s := source(func(context.Context, func(int) bool) error { return errBoom }, func(ctx context.Context, _ func(int) bool) error {
				if c.works {
					stream.Works(ctx)
				}
				if c.end != nil {
					return c.end
				}
				<-ctx.Done()
				stream.Works(ctx) // too late
				return ctx.Err()
			})
			if err := s.Retry(1).ForEach(ctx, func(int) {}); err == nil || errors.Is(err, errBoom) == c.works {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Each retried stream around the context hears of it, and nothing else.
func TestWorks_EachStreamAround(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var inner, outer outages
		attempts := 0
		s := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
			if attempts++; attempts < 4 {
				return errBoom
			}
			return retry.Run(ctx, retry.Default, func(ctx context.Context) error {
				stream.Works(ctx)
				time.Sleep(time.Hour)
				return nil
			})
		}).RetryWhen(inner.policy(retry.Limit(1))).RetryWhen(outer.policy())
		if err := s.ForEach(t.Context(), func(int) {}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"down: boom", "up", "down: boom", "up", "recovered after 1, 1s: boom"}; !slices.Equal(inner.notes, want) {
			t.Errorf("inner: %q", inner.notes)
		}
		if n := len(outer.notes); n != 3 || outer.notes[n-1] != "recovered after 1, 2s: retry: limit of 1 retry: 2 failures in 1s: boom" {
			t.Errorf("outer: %q", outer.notes)
		}
	})
	stream.Works(t.Context()) // does nothing
}

// Under the context of an inner attempt that is over it does nothing, for the outer attempt either.
func TestWorks_AfterAnInnerAttempt(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var o outages
		s := source(func(context.Context, func(int) bool) error { return errBoom }, func(ctx context.Context, yield func(int) bool) error {
			var over []context.Context
			inner := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error { over = append(over, ctx); return errBoom })
			err := inner.Retry(1)(ctx, yield)
			for _, ctx := range over {
				stream.Works(ctx)
			}
			return err
		}, func(context.Context, func(int) bool) error { return nil })
		err := s.RetryWhen(o.policy()).ForEach(t.Context(), func(int) {})
		if want := []string{"down: boom", "up", "recovered after 2, 2s: boom"}; err != nil || !slices.Equal(o.notes, want) {
			t.Errorf("%v\ngot  %q\nwant %q", err, o.notes, want)
		}
	})
}

// Hooks are called one after the other, and those of the outage that a value ends have returned when the consumer has
// it.
func TestWorks_AHookThatWaits(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		hooks := 0
		p := retry.New(backoff.Constant(0), retry.OnRecovered(func(context.Context, retry.Recovery) {
			hooks++
			time.Sleep(time.Minute)
			hooks++
		}))
		s := source(func(context.Context, func(int) bool) error { return errBoom }, func(ctx context.Context, yield func(int) bool) error {
			for range 3 {
				go stream.Works(ctx)
			}
			synctest.Wait()
			yield(1)
			return nil
		})
		start := time.Now()
		err := s.RetryWhen(p).ForEach(t.Context(), func(int) {
			if hooks != 2 || time.Since(start) != time.Minute {
				t.Errorf("the consumer has the value after %v, in hook %d", time.Since(start), hooks)
			}
		})
		if err != nil || hooks != 2 {
			t.Errorf("%v, %d", err, hooks)
		}
	})
}
