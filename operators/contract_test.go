package operators_test

import (
	"context"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestContract_NumbersOutOfRange(t *testing.T) {
	s := stream.Of(1)
	of := func(int) ints { return s }
	all := func(window ints) ints { return window }
	call := func(context.Context, int) (int, error) { return 0, nil }
	page := func(context.Context, int) ([]int, int, error) { return nil, 0, nil }
	type options = operators.MapRetryOptions[int]
	for want, build := range map[string]func(){
		"Batch: most is 0, want at least 1":                    func() { operators.Batch(s, 0, 0) },
		"Batch: wait is -1ns, want at least 0":                 func() { operators.Batch(s, 1, -1) },
		"ExpBackoff: delay is -1s, want at least 0":            func() { operators.ExpBackoff(jitter.None, -time.Second, 3) },
		"ExpBackoff: retries is -1, want at least 0":           func() { operators.ExpBackoff(jitter.None, time.Second, -1) },
		"ExpBackoff: j is nil, want jitter.None for no jitter": func() { operators.ExpBackoff(nil, time.Second, 3) },
		"FlatMap: concurrency is 0, want at least 1":           func() { operators.FlatMap(s, 0, of) },
		"FlatMap: concurrency is -7, want at least 1":          func() { operators.FlatMap(s, -7, of) },
		"MapRetry: Workers is -1, want at least 0":             func() { operators.MapRetry(s, retry.Default, call, options{Workers: -1}) },
		"MapRetry: MaxPending is -2, want at least 0":          func() { operators.MapRetry(s, retry.Default, call, options{MaxPending: -2}) },
		"Poll: every is 0s, want more than 0":                  func() { operators.Poll(0, 0, page, again) },
		"Poll: every is -1s, want more than 0":                 func() { operators.Poll(-time.Second, 0, page, again) },
		"ShareN: n is 0, want at least 1":                      func() { operators.ShareN(s, 0) },
		"ShareReplay: n is 0, want at least 1":                 func() { operators.ShareReplay(s, 0) },
		"Window: most is 0, want at least 1":                   func() { operators.Window(s, 0, 0, all) },
		"Window: span is -1s, want at least 0":                 func() { operators.Window(s, 1, -time.Second, all) },
	} {
		check.Panics(t, "operators: "+want, build)
	}
}

// A function that returns a nil stream at run time is a clear error, and what runs concurrently has returned.
func TestContract_NilInnerStream(t *testing.T) {
	type s = stream.Stream[int]
	bad := func(v int) s {
		if v == 2 {
			return nil
		}
		return stream.Of(v)
	}
	for want, apply := range map[string]func(s) s{
		"operators: ConcatMap: f returned a nil stream":  func(src s) s { return operators.ConcatMap(src, bad) },
		"operators: FlatMap: f returned a nil stream":    func(src s) s { return operators.FlatMap(src, 2, bad) },
		"operators: SwitchMap: f returned a nil stream":  func(src s) s { return operators.SwitchMap(src, bad) },
		"operators: ExhaustMap: f returned a nil stream": func(src s) s { return operators.ExhaustMap(src, bad) },
		"operators: GroupBy: f returned a nil stream": func(src s) s {
			return operators.GroupBy(src, func(v int) int { return v }, func(k int, _ s) s { return bad(k) })
		},
		"operators: Window: f returned a nil stream": func(src s) s { return operators.Window(src, 1, 0, func(s) s { return nil }) },
		"operators: RepeatWhen: h returned a nil stream": func(src s) s {
			return operators.RepeatWhen(src, func(stream.Stream[operators.Completion]) s { return nil })
		},
	} {
		bubble(t, want, func(t *testing.T) {
			runs, returned := 0, 0
			src := stream.Defer(func(context.Context) s { runs++; return stream.Range(1, 3).Delay(ms) })
			_, err := apply(returns(src, &returned)).Collect(t.Context())
			if err == nil || err.Error() != want || runs != returned {
				t.Errorf("got %v; %d runs of the source, %d have returned", err, runs, returned)
			}
		})
	}
}
