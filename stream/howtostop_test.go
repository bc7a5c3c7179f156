package stream_test

import (
	"context"
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
