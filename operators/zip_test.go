package operators_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

func TestZipWith_Times(t *testing.T) {
	for name, c := range map[string]struct{ a, b, want string }{
		"each waits for the other":                    {"10a 20b 50c 60|", "15x 16y 40z", "15ax 20by 50cz 60|"},
		"b ends while a waits":                        {"10a 100b", "20x 30|", "20ax 30|"},
		"b ends while a has a value":                  {"10a", "30|", "30|"},
		"a ends while b waits":                        {"10a 20|", "5x 50y", "10ax 20|"},
		"a ends while b has a value":                  {"10a 20|", "5x 6y", "10ax 20|"},
		"both end":                                    {"10a 20|", "10x 20|", "10ax 20|"},
		"a is empty":                                  {"20|", "10x", "20|"},
		"b is empty":                                  {"10a", "20|", "20|"},
		"a fails":                                     {"10a 20#", "10x", "10ax 20#"},
		"a fails while b has a value":                 {"10a 20#", "10x 11y", "10ax 20#"},
		"b fails while a waits":                       {"10a", "10x 20#", "10ax 20#"},
		"b fails while a has a value":                 {"10a 11b", "10x 20#", "10ax 20#"},
		"the last pair comes before b's late failure": {"10a 20b 20|", "10x 15y 30#", "10ax 20by 20|"},
	} {
		bubble(t, name, func(t *testing.T) {
			as, bs := 0, 0
			s := operators.ZipWith(returns(cold(c.a), &as), returns(cold(c.b), &bs), join)
			expect(t, s, c.want)
			if as != 1 || bs != 1 {
				t.Errorf("%d, %d have returned", as, bs)
			}
		})
	}
	bubble(t, "on a mock clock", func(t *testing.T) {
		expectOnMock(t, operators.ZipWith(cold("10a 20b 50c 60|"), cold("15x 16y 40z"), join), "15ax 20by 50cz 60|")
	})
}

func TestZipWith_StoppedAndCancelled(t *testing.T) {
	bubble(t, "stopped, while a does not stop", func(t *testing.T) {
		rude := strs(func(_ context.Context, yield func(string) bool) error {
			for range 3 {
				yield("a")
			}
			return nil
		})
		expect(t, operators.ZipWith(rude, cold("10x"), join).Take(1), "10ax 10|")
	})
	bubble(t, "cancelled while a waits", func(t *testing.T) {
		expectCancelled(t, 50*ms, operators.ZipWith(cold("10a"), cold("10x 30y"), join), "10ax 50!")
	})
	bubble(t, "cancelled while b waits", func(t *testing.T) {
		expectCancelled(t, 50*ms, operators.ZipWith(cold("10a 20b"), cold("10x"), join), "10ax 50!")
	})
}

func TestZipWith_BothWaitForTheConsumer(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var a, b atomic.Int64
		n := 0
		s := operators.ZipWith(counted(100, &a), counted(100, &b), add)
		_ = s(t.Context(), func(int) bool {
			time.Sleep(time.Second)
			n++
			if a.Load() != int64(n) || b.Load() != int64(n) {
				t.Errorf("%d and %d made for pair %d", a.Load(), b.Load(), n)
			}
			return n < 10
		})
	})
}

func TestZip_Pairs(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		expect(t, operators.Zip(cold("10a 20b 30|"), stream.Range(1, 9)), "10(a, 1) 20(b, 2) 30|")
	})
}

func TestTakeUntil_Times(t *testing.T) {
	for name, c := range map[string]struct{ s, stop, want string }{
		"stop's first value ends it":        {"10a 20b 40c", "30x 35y", "10a 20b 30|"},
		"s ends first":                      {"10a 20|", "30x", "10a 20|"},
		"s fails first":                     {"10a 20#", "30x", "10a 20#"},
		"stop's end changes nothing":        {"10a 40b 50|", "30|", "10a 40b 50|"},
		"stop's failure is a failure":       {"10a 40b", "30#", "10a 30#"},
		"stop is over before the first one": {"40a", "30x", "30|"},
		"empty":                             {"0|", "30x", "0|"},
	} {
		bubble(t, name, func(t *testing.T) {
			ss, stops := 0, 0
			s := operators.TakeUntil(returns(cold(c.s), &ss), returns(cold(c.stop), &stops))
			expectBoth(t, s, c.want)
			if ss != 2 || stops != 2 {
				t.Errorf("%d, %d have returned", ss, stops)
			}
		})
	}
	bubble(t, "cancelled while the consumer works, after stop has spoken: the error tells so", func(t *testing.T) {
		for stop, alsoBoom := range map[string]bool{"20x": false, "20|": false, "20#": true} {
			ctx := cancelAt(t, 30*ms)
			err := operators.TakeUntil(cold("10a 50b"), cold(stop)).ForEach(ctx, func(string) { time.Sleep(30 * ms) })
			if !errors.Is(err, errCause) || errors.Is(err, errBoom) != alsoBoom {
				t.Errorf("stop %s: got %v", stop, err)
			}
		}
	})
}

func TestTakeUntil_NoValueAfterStop(t *testing.T) {
	bubble(t, "not even of a stream that does not heed its context, and its error does not count", func(t *testing.T) {
		deaf := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
			for i := 0; ; i++ {
				time.Sleep(10 * ms)
				if !yield(i) {
					return errBoom
				}
			}
		})
		expect(t, operators.TakeUntil(deaf, cold("25x")), "100 201 30|")
	})
	bubble(t, "while the consumer is busy", func(t *testing.T) {
		got := playWith(t.Context(), operators.TakeUntil(cold("10a 20b 30c"), cold("25x")), func(string) bool {
			time.Sleep(10 * ms)
			return true
		})
		if want := "10a 20b 30|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	bubble(t, "stop is cancelled at its first value, and waited for", func(t *testing.T) {
		expect(t, operators.TakeUntil(cold("10a"), windingDownAlways(cold("20x 30y"), 30*ms)), "10a 50|")
	})
	bubble(t, "a panic of stop ends it", func(t *testing.T) {
		stop := stream.Timer(10 * ms).Tap(func(time.Time) { panic(errBoom) })
		v := recovered(func() { _, _ = operators.TakeUntil(stream.Never[int](), stop).Collect(t.Context()) })
		if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
			t.Errorf("%v", v)
		}
	})
}

// windingDownAlways takes d to return.
func windingDownAlways[T any](s stream.Stream[T], d time.Duration) stream.Stream[T] {
	return s.OnEnd(func(error) { time.Sleep(d) })
}
