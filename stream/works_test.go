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
	for name, c := range map[string]struct {
		attempts []func(context.Context, func(int) bool) error
		opts     []retry.Option
		want     []string
	}{
		"ends the outage at once": {
			[]func(context.Context, func(int) bool) error{fails, func(ctx context.Context, yield func(int) bool) error {
				time.Sleep(time.Second)
				stream.Works(ctx)
				stream.Works(ctx)
				time.Sleep(6 * time.Hour)
				yield(1)
				return nil
			}}, nil,
			[]string{"down: boom", "up", "recovered after 1, 2s: boom", "<nil>"},
		},
		"before any failure": {
			[]func(context.Context, func(int) bool) error{works, func(context.Context, func(int) bool) error { return nil }}, nil,
			[]string{"down: boom", "up", "recovered after 1, 1s: boom", "<nil>"},
		},
		"a failure after it begins a new one": {
			[]func(context.Context, func(int) bool) error{fails, works, func(context.Context, func(int) bool) error { return nil }}, nil,
			[]string{"down: boom", "up", "recovered after 1, 1s: boom", "down: boom", "up", "recovered after 1, 1s: boom", "<nil>"},
		},
		"is no progress": {
			[]func(context.Context, func(int) bool) error{fails, works, works}, []retry.Option{retry.Limit(2), retry.ResetAfterItems(1)},
			[]string{"down: boom", "up", "recovered after 1, 1s: boom", "down: boom", "up", "recovered after 1, 1s: boom",
				"retry: limit of 2 retries: 3 failures in 2s: boom"},
		},
		"on another goroutine": {
			[]func(context.Context, func(int) bool) error{fails, func(ctx context.Context, yield func(int) bool) error {
				heartbeats := stream.Interval(time.Second).Take(3).DropHeartbeats(func(time.Time) bool { return true })
				return stream.Never[time.Time]().Merge(heartbeats).TakeUntilDone(deadline(ctx, time.Minute))(ctx, func(time.Time) bool { return true })
			}}, nil,
			[]string{"down: boom", "up", "recovered after 1, 2s: boom", "<nil>"},
		},
		"after its attempt": {
			[]func(context.Context, func(int) bool) error{fails, func(ctx context.Context, _ func(int) bool) error {
				time.AfterFunc(time.Second/2, func() { stream.Works(ctx) })
				return errBoom
			}, func(context.Context, func(int) bool) error { return nil }}, nil,
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

// Hooks are called one after the other, and those of the outage that a value ends have returned when the consumer has it.
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
