package stream_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// The ways to stop a stream that docs/semantics.md compares, each 25 ms after the start. The source is down and is
// tried again every 10 ms, so that each of them strikes in a wait.
var down = stream.Fail[string](errBoom)

var again = stream.RetryHandlerFunc(func(f stream.Stream[stream.Failure]) stream.Stream[stream.Failure] { return f.Delay(10 * ms) })

func TestHowToStop_TakeUntilDone(t *testing.T) {
	bubble(t, "behind RetryWhen it ends the wait at once", func(t *testing.T) {
		expectTimes(t, down.RetryWhen(again).TakeUntilDone(closedAt(25*ms)), nil, 25*ms, nil)
	})
	bubble(t, "before it the wait is slept out", func(t *testing.T) {
		expectTimes(t, down.TakeUntilDone(closedAt(25*ms)).RetryWhen(again), nil, 30*ms, nil)
	})
	bubble(t, "before it, an attempt ends at once", func(t *testing.T) {
		expectTimes(t, stream.Never[string]().TakeUntilDone(closedAt(25*ms)).RetryWhen(again), nil, 25*ms, nil)
	})
	bubble(t, "with the Done of another context", func(t *testing.T) {
		stop, cancel := context.WithCancel(context.Background())
		time.AfterFunc(25*ms, cancel)
		expectTimes(t, down.RetryWhen(again).TakeUntilDone(stop.Done()), nil, 25*ms, nil)
	})
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
			_, at, err := timeline(ctx, apply(ctx))
			if at != 25*ms || !endedBy(ctx, err) {
				t.Errorf("ended at %v with %v, want the cause at 25ms", at, err)
			}
		})
	}
}

// A channel that is closed has no value for TakeUntil.
func TestHowToStop_TakeUntilAClosedChannel(t *testing.T) {
	bubble(t, "is not stopped", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, at, err := timeline(ctx, operators.TakeUntil(down.RetryWhen(again), stream.FromChan(closedAt(25*ms))))
		if at != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended at %v with %v", at, err)
		}
	})
}

// signal.Notify sends a value, which TakeUntil and TakeUntilDone both take; before RetryWhen FromChan has it once only.
func TestHowToStop_ASignalThatIsSent(t *testing.T) {
	sent := func() <-chan os.Signal {
		c := make(chan os.Signal, 1)
		time.AfterFunc(25*ms, func() { c <- os.Interrupt })
		return c
	}
	bubble(t, "behind RetryWhen", func(t *testing.T) {
		expectTimes(t, operators.TakeUntil(down.RetryWhen(again), stream.FromChan(sent())), nil, 25*ms, nil)
	})
	bubble(t, "before RetryWhen", func(t *testing.T) {
		slow := stream.Of("a").Delay(ms).Concat(down)
		expectTimes(t, operators.TakeUntil(slow, stream.FromChan(sent())).RetryWhen(again), []event[string]{{ms, "a"}}, 11*ms, stream.ErrNotRestartable)
		time.Sleep(25 * ms)
	})
}
