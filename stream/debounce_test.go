package stream_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// A consumer that stops at the value that has waited gets no error, though the source has failed.
func TestWhatHasWaited_AStopThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := stream.Of(1, 2).Concat(stream.Fail[int](errBoom))
		for name, s := range map[string]stream.Stream[int]{"Debounce": failing.Debounce(time.Hour), "ThrottleLatest": failing.ThrottleLatest(time.Hour)} {
			if err := s(t.Context(), func(v int) bool { return v < 2 }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A cancel at the instant at which the silence has lasted, or the window ends, is the end, whichever is seen first.
func TestWhatHasWaited_ACancelAsTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := stream.Of(1, 2).Concat(stream.Never[int]())
		for name, s := range map[string]stream.Stream[int]{"Debounce": src.Debounce(ms), "ThrottleLatest": src.ThrottleLatest(ms)} {
			for range 50 {
				ctx, cancel := context.WithCancelCause(t.Context())
				clock := cancelling{stream.ClockFrom(ctx), cancel}
				got, err := s.Collect(stream.WithClock(ctx, clock))
				if len(got) > 2 || name == "Debounce" && len(got) > 1 || !endedBy(ctx, err) {
					t.Fatalf("%s: got %v, %v", name, got, err)
				}
			}
		}
	})
}

// cancelling ends a context right after it has called back.
type cancelling struct {
	stream.Clock
	cancel context.CancelCauseFunc
}

func (c cancelling) AfterFunc(d time.Duration, f func()) stream.Stopper {
	return c.Clock.AfterFunc(d, func() {
		f()
		c.cancel(errCause)
	})
}

// cancelsAtOnce is a clock whose timers fire before AfterFunc returns, and end a context then.
type cancelsAtOnce struct {
	stream.Clock
	cancel context.CancelCauseFunc
}

func (c cancelsAtOnce) AfterFunc(_ time.Duration, f func()) stream.Stopper {
	c.cancel(errCause)
	f()
	return time.NewTimer(0)
}

// A value whose silence ends after the context is dropped.
func TestDebounce_ASilenceThatEndsAfterTheContext(t *testing.T) {
	for range 20 { // the operator picks what it sees first
		ctx, cancel := context.WithCancelCause(t.Context())
		clock := cancelsAtOnce{stream.ClockFrom(ctx), cancel}
		got, err := stream.Of(1).Concat(stream.Never[int]()).Debounce(ms).Collect(stream.WithClock(ctx, clock))
		if len(got) != 0 || !endedBy(ctx, err) {
			t.Fatalf("got %v, %v", got, err)
		}
	}
}
