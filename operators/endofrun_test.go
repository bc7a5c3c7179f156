package operators_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
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
		expectBusy(t, s, 25*ms, "101a 352b 60|")
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

// yields returns the stream of 1, 2, 3 … that stops when yield returns false, and notes what yield has returned.
func yields(got *[]bool) stream.Stream[int] {
	return func(_ context.Context, yield func(int) bool) error {
		for n := 1; ; n++ {
			more := yield(n)
			*got = append(*got, more)
			if !more {
				return nil
			}
		}
	}
}

// A source's yield returns false for the very value at which the stream is over: it does no work for a next one.
func TestASourceIsStoppedAtTheLastValue(t *testing.T) {
	for name, s := range map[string]func(source stream.Stream[int]) stream.Stream[int]{
		"FlatMap's consumer has stopped": func(source stream.Stream[int]) stream.Stream[int] {
			return operators.FlatMap(stream.Of(0), 2, func(int) stream.Stream[int] { return source }).Take(2)
		},
		"ZipWith's second stream has ended": func(source stream.Stream[int]) stream.Stream[int] {
			return operators.ZipWith(source, stream.Of(10), func(a, b int) int { return a + b })
		},
		"ZipWith's consumer has stopped": func(source stream.Stream[int]) stream.Stream[int] {
			return operators.ZipWith(source, stream.Of(10, 20, 30), func(a, b int) int { return a + b }).Take(2)
		},
		"WithLatestFrom's consumer has stopped": func(source stream.Stream[int]) stream.Stream[int] {
			return operators.WithLatestFrom(source, stream.Of(10), func(a, b int) int { return a + b }).Take(2)
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var got []bool
			if err := s(yields(&got)).ForEach(t.Context(), func(int) {}); err != nil {
				t.Error(err)
			}
			if !slices.Equal(got, []bool{true, false}) {
				t.Errorf("yield has returned %v, want true, then false", got)
			}
		})
	}
}

// The context that Sample derives for its source ends with the run, so that the subscriber's context does not keep it.
func TestSample_TheContextOfItsSourceEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen context.Context
		source := ints(func(ctx context.Context, yield func(int) bool) error {
			seen = ctx
			yield(1)
			return nil
		})
		err := operators.Sample(source, stream.Never[int]()).ForEach(t.Context(), func(int) {})
		if err != nil || seen == t.Context() || seen.Err() == nil {
			t.Errorf("%v; the source's context: %v", err, seen)
		}
	})
}

// Window returns when a goroutine that runs the window has, also when f's stream fails earlier.
func TestWindow_IsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, failure, left := time.Now(), errors.New("failure"), time.Duration(0)
		s := operators.Window(stream.Range(1, 4), 2, 0, func(window stream.Stream[int]) stream.Stream[int] {
			return func(ctx context.Context, _ func(int) bool) error {
				taken := make(chan struct{})
				go window(ctx, func(int) bool {
					close(taken)
					time.Sleep(time.Second)
					left = time.Since(began)
					return false
				})
				<-taken
				return failure
			}
		})
		if err := s.ForEach(t.Context(), func(int) {}); err != failure {
			t.Errorf("got %v, want %v", err, failure)
		}
		if left != time.Second || time.Since(began) != time.Second {
			t.Errorf("the window was left after %v, and Window returned after %v, want 1s and 1s", left, time.Since(began))
		}
	})
}
