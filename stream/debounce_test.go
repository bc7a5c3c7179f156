package stream_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

func TestDebounce_TheLastBeforeASilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := at(ev{1 * ms, 1}, ev{3 * ms, 2}, ev{5 * ms, 3}, ev{14 * ms, 4}, ev{18 * ms, 5})
		expectTimes(t, src.Debounce(3*ms), []ev{{8 * ms, 3}, {17 * ms, 4}, {18 * ms, 5}}, 18*ms, nil)
	})
}

func TestDebounce_AtTheEndTheValueComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Of(1, 2, 3).Debounce(time.Hour), []ev{{0, 3}}, 0, nil)
	})
}

func TestDebounce_AtAnErrorTheValueComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Of(1, 2, 3).Concat(stream.Fail[int](errBoom)).Debounce(time.Hour), []ev{{0, 3}}, 0, errBoom)
	})
}

func TestDebounce_ACancelDropsTheValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*ms, errCause)
		defer cancel()
		got, at, err := timeline(ctx, at(ev{1 * ms, 1}, ev{time.Hour, 2}).Debounce(3*ms))
		if len(got) != 0 || at != 2*ms || !endedBy(ctx, err) {
			t.Errorf("got %v, ended at %v with %v", got, at, err)
		}
	})
}

func TestDebounce_AStopWithTheValueThatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stream.Of(1).Concat(stream.Fail[int](errBoom)).Debounce(time.Hour)
		if err := s(t.Context(), func(int) bool { return false }); err != nil {
			t.Error(err)
		}
	})
}

func TestDebounce_ASteadyFlowDeliversNothingUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expectTimes(t, stream.Range(0, 100).Delay(2*ms).Debounce(3*ms), []ev{{200 * ms, 99}}, 200*ms, nil)
	})
}

func TestDebounce_Zero(t *testing.T) {
	expect(t, stream.Of(1, 2, 3).Debounce(0), []int{1, 2, 3}, nil)
}

func TestDebounce_Retried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := at(ev{1 * ms, 1}, ev{10 * ms, 2}).MustNotEnd(errBoom)
		expectTimes(t, src.Debounce(3*ms).Retry(1), []ev{{4 * ms, 1}, {10 * ms, 2}, {14 * ms, 1}, {20 * ms, 2}}, 20*ms, errBoom)
	})
}

// A cancel at the instant at which the silence has lasted is the end, whichever is seen first.
func TestDebounce_ACancelAsTheSilenceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			ctx, cancel := context.WithCancelCause(t.Context())
			clock := cancelling{stream.ClockFrom(ctx), cancel}
			got, err := stream.Of(1).Concat(stream.Never[int]()).Debounce(ms).Collect(stream.WithClock(ctx, clock))
			if len(got) > 1 || !endedBy(ctx, err) {
				t.Fatalf("got %v, %v", got, err)
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

// A value that was delivered after its silence is not delivered again at the end.
func TestDebounce_OnceOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, end := range []stream.Stream[int]{stream.Empty[int](), stream.Fail[int](errBoom)} {
			src := at(ev{1 * ms, 1}).Concat(at(ev{9 * ms, 0}).Filter(func(v int) bool { return v > 0 }), end)
			_, _, want := timeline(t.Context(), end)
			expectTimes(t, src.Debounce(3*ms), []ev{{4 * ms, 1}}, 10*ms, want)
		}
	})
}

func TestDebounce_ZeroSetsNoTimer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	got, err := stream.Of(1, 2).Debounce(0).Collect(stream.WithClock(ctx, cancelling{stream.ClockFrom(ctx), cancel}))
	if err != nil || !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got %v, %v", got, err)
	}
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
