package operators_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// A window whose time is over while the consumer has its value in hand is closed: the next value opens another one.
func TestWindow_EndsWhileTheConsumerIsBusy(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		n := 0
		s := operators.Window(fromScript("10a 32b 50|"), math.MaxInt, 30*ms, func(w strs) strs {
			n++
			return operators.Map(w, prefixed(string(rune('0'+n))))
		})
		got := playWith(t.Context(), s, func(string) bool { time.Sleep(25 * ms); return true })
		if want := "101a 352b 60|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestShare_CancelledWithAValueOnItsWay(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		err := operators.Share(stream.Range(0, math.MaxInt))(ctx, func(int) bool {
			n++
			cancel(errCause)
			return true
		})
		if !errors.Is(err, errCause) || n != 1 {
			t.Fatalf("%d values, %v", n, err)
		}
	}
}

func TestRetryWhen_OfANilStream(t *testing.T) {
	_, err := operators.RetryWhen(stream.Fail[int](errBoom), func(stream.Stream[stream.Failure]) strs { return nil }).Collect(t.Context())
	if err == nil || !errors.Is(err, errBoom) {
		t.Error(err)
	}
}

func TestConcatMap_AfterTheStop(t *testing.T) {
	rude := func(_ context.Context, yield func(int) bool) error {
		for i := range 5 {
			yield(i)
		}
		return errBoom
	}
	var calls []int
	err := operators.ConcatMap(rude, func(v int) ints { calls = append(calls, v); return stream.Of(v, v) })(t.Context(), func(v int) bool { return v < 1 })
	if err != nil || !slices.Equal(calls, []int{0, 1}) {
		t.Error(calls, err)
	}
}

// doubleClock calls each function twice, as some mocks do.
type doubleClock struct{}

func (doubleClock) Now() time.Time { return time.Now() }

func (doubleClock) AfterFunc(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { f(); f() })
}

func TestBatch_OnAClockThatFiresTwice(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		ctx := stream.WithClock(t.Context(), doubleClock{})
		batches, err := operators.Batch(fromScript("10a 20b 100c 200|"), 5, 30*ms).Collect(ctx)
		if err != nil || len(batches) != 2 || !slices.Equal(batches[0], []string{"a", "b"}) || !slices.Equal(batches[1], []string{"c"}) {
			t.Error(batches, err)
		}
	})
}

// strictClock reports waits of nothing, which a clock is never given, and looks at the time under no lock of others.
type strictClock struct {
	t     *testing.T
	armed *int
}

func (strictClock) Now() time.Time { return time.Now() }

func (c strictClock) AfterFunc(d time.Duration, f func()) *time.Timer {
	if d <= 0 {
		c.t.Errorf("AfterFunc(%v)", d)
	}
	*c.armed++
	return time.AfterFunc(d, f)
}

func TestMapRetry_ArmsNoTimerThatIsDue(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		armed := 0
		ctx := stream.WithClock(t.Context(), strictClock{t, &armed})
		failures := map[int]int{}
		f := func(_ context.Context, v int) (int, error) {
			if failures[v]++; failures[v] < 4 {
				time.Sleep(time.Duration(v%3) * ms) // others are due meanwhile
				return 0, errBoom
			}
			return v, nil
		}
		p := retry.New(backoff.Table(0, ms, 2*ms))
		got, err := operators.MapRetry(stream.Range(0, 50), p, f, operators.MapRetryOptions[int]{Workers: 1}).Collect(ctx)
		if err != nil || len(got) != 50 || armed == 0 {
			t.Error(len(got), armed, err)
		}
	})
}
