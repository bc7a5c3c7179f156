package stream_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// The ways to stop a stream that docs/semantics.md compares, each 25 ms after the start. The source is down and is
// tried again every 10 ms, so that each of them strikes in a wait.
var down = stream.Fail[string](errBoom)

var again = stream.RetryHandlerFunc(func(f stream.Stream[stream.Failure]) stream.Stream[stream.Failure] { return f.Delay(10 * ms) })

func TestHowToStop_TakeUntilDone(t *testing.T) {
	expectFlow(t, "behind RetryWhen it ends the wait at once", func() stream.Stream[string] {
		return down.RetryWhen(again).TakeUntilDone(closedAt(25 * ms))
	}, "25ms |", nil)
	expectFlow(t, "before it the wait is slept out", func() stream.Stream[string] {
		return down.TakeUntilDone(closedAt(25 * ms)).RetryWhen(again)
	}, "30ms |", nil)
	expectFlow(t, "before it, an attempt ends at once", func() stream.Stream[string] {
		return stream.Never[string]().TakeUntilDone(closedAt(25 * ms)).RetryWhen(again)
	}, "25ms |", nil)
	expectFlow(t, "with the Done of another context", func() stream.Stream[string] {
		stop, cancel := context.WithCancel(context.Background())
		time.AfterFunc(25*ms, cancel)
		return down.RetryWhen(again).TakeUntilDone(stop.Done())
	}, "25ms |", nil)
}

func TestHowToStop_CancelTheSubscribersContext(t *testing.T) {
	for name, apply := range map[string]func(ctx context.Context) stream.Stream[string]{
		"alone": func(context.Context) stream.Stream[string] { return down.RetryWhen(again) },
		"its Done before RetryWhen": func(ctx context.Context) stream.Stream[string] {
			return down.TakeUntilDone(ctx.Done()).RetryWhen(again)
		},
		"its Done behind RetryWhen": func(ctx context.Context) stream.Stream[string] {
			return down.RetryWhen(again).TakeUntilDone(ctx.Done())
		},
		"its Done in TakeUntil, as a try": func(ctx context.Context) stream.Stream[string] {
			return operators.TakeUntil(down.RetryWhen(again), stream.FromChan(ctx.Done()))
		},
	} {
		bubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(25*ms, func() { cancel(errCause) })
			start := time.Now()
			_, err := apply(ctx).Collect(ctx)
			if at := time.Since(start); at != 25*ms || !endedBy(ctx, err) {
				t.Errorf("ended at %v with %v, want the cause at 25ms", at, err)
			}
		})
	}
}

// A channel that is closed has no value for TakeUntil.
func TestHowToStop_TakeUntilAClosedChannel(t *testing.T) {
	expectFlow(t, "is not stopped", func() stream.Stream[string] {
		return operators.TakeUntil(down.RetryWhen(again), stream.FromChan(closedAt(25*ms)))
	}, "60ms", nil)
}

// signal.Notify sends a value, which TakeUntil and TakeUntilDone both take; before RetryWhen FromChan has it once only.
func TestHowToStop_ASignalThatIsSent(t *testing.T) {
	sent := func() <-chan os.Signal {
		c := make(chan os.Signal, 1)
		time.AfterFunc(25*ms, func() { c <- os.Interrupt })
		return c
	}
	expectFlow(t, "behind RetryWhen", func() stream.Stream[string] {
		return operators.TakeUntil(down.RetryWhen(again), stream.FromChan(sent()))
	}, "25ms |", nil)
	expectFlow(t, "before RetryWhen", func() stream.Stream[string] {
		return operators.TakeUntil(stream.Of("a").Delay(ms).Concat(down), stream.FromChan(sent())).RetryWhen(again)
	}, "-a 9ms #", stream.ErrNotRestartable)
}

// closedAt returns a channel that is closed d from now.
func closedAt(d time.Duration) chan struct{} {
	done := make(chan struct{})
	time.AfterFunc(d, func() { close(done) })
	return done
}

// A done that is closed already: the source is not run.
func TestTakeUntilDone_ClosedAndNil(t *testing.T) {
	done := make(chan struct{})
	close(done)
	never := stream.Stream[int](func(context.Context, func(int) bool) error { t.Error("the source was run"); return nil })
	expect(t, never.TakeUntilDone(done), nil, nil)
}

// The source learns that the consumer has stopped.
func TestTakeUntilDone_TheConsumerStops(t *testing.T) {
	var told []bool
	err := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		told = append(told, yield(1), yield(2))
		return nil
	}).TakeUntilDone(make(chan struct{}))(t.Context(), func(v int) bool { return v < 2 })
	if err != nil || !slices.Equal(told, []bool{true, false}) {
		t.Errorf("got %v; yield returned %v", err, told)
	}
}

// A value that is sent ends it as well, though it is received once.
func TestTakeUntilDone_AValueThatIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, buffer := range []int{0, 1} {
			done := make(chan struct{}, buffer)
			time.AfterFunc(5*ms+ms/2, func() { done <- struct{}{} })
			start := time.Now()
			if expect(t, stream.Of(1, 2, 3).Delay(2*ms).TakeUntilDone(done), []int{1, 2}, nil); time.Since(start) != 5*ms+ms/2 {
				t.Errorf("it ended after %v", time.Since(start))
			}
			go func() { done <- struct{}{} }()
			synctest.Wait()
			n := 0
			err := stream.Range(0, many).TakeUntilDone(done).ForEach(t.Context(), func(int) { n++ })
			if err != nil || n != 0 {
				t.Errorf("%d values, %v", n, err)
			}
		}
	})
}

// Nothing is delivered after done is closed, not even by a source that ignores its context, and whatever it returns.
func TestTakeUntilDone_NothingAfterDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, last := range []error{nil, errBoom} {
			done := make(chan struct{})
			returned := false
			rude := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
				for i := range 5 {
					if more := yield(i); more != (i <= 2) {
						t.Errorf("yield of %d returned %t", i, more)
					}
				}
				time.Sleep(time.Second)
				returned = true
				return last
			})
			var got []int
			err := rude.TakeUntilDone(done).ForEach(t.Context(), func(v int) {
				if got = append(got, v); v == 2 {
					close(done)
				}
			})
			if err != nil || !slices.Equal(got, []int{0, 1, 2}) || !returned {
				t.Errorf("got %v, %v; the source has returned: %v", got, err, returned)
			}
		}
	})
}

// done wins over a failure that comes after it, also if the source has seen nothing of it.
func TestTakeUntilDone_AFailureAfterDone(t *testing.T) {
	done := make(chan struct{})
	s := stream.FromFunc(func(context.Context) (int, error) { close(done); return 0, errBoom })
	expect(t, s.TakeUntilDone(done), nil, nil)
}

// ctx's end wins, before done and after it.
func TestTakeUntilDone_TheContextWins(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	_, err := stream.Of(1).TakeUntilDone(ctx.Done()).Collect(ctx)
	if !endedBy(ctx, err) {
		t.Errorf("both before: %v", err)
	}
	for name, closeFirst := range map[string]bool{"done first": true, "the context first": false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan struct{})
			source := stream.FromFunc(func(context.Context) (int, error) {
				if closeFirst {
					close(done)
				}
				cancel(errCause)
				if !closeFirst {
					close(done)
				}
				return 0, errBoom
			})
			_, err := source.TakeUntilDone(done).Collect(ctx)
			if !endedBy(ctx, err) || errors.Is(err, errBoom) {
				t.Errorf("%s: %v, want the cause without what the source returned", name, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*ms, errCause)
		defer cancel()
		start := time.Now()
		_, err := stream.Never[int]().TakeUntilDone(closedAt(9 * ms)).Collect(ctx)
		if at := time.Since(start); at != 5*ms || !endedBy(ctx, err) {
			t.Errorf("ended at %v with %v", at, err)
		}
		time.Sleep(9 * ms)
	})
	ctx, cancel = context.WithCancelCause(t.Context())
	source := stream.FromFunc(func(context.Context) (int, error) { cancel(errCause); return 0, errBoom })
	if _, err := source.TakeUntilDone(make(chan struct{})).Collect(ctx); !endedBy(ctx, err) || !errors.Is(err, errBoom) {
		t.Errorf("%v, want the cause and the failure", err)
	}
}
