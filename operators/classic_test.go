package operators_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// classic is the form in which retryWhen became known: zip the failures with the numbers of the attempts, map each to a
// timer of delay·n²·jitter. join is flatMap or concatMap.
func classic(join func(stream.Stream[int], func(int) stream.Stream[time.Time]) stream.Stream[time.Time], delay time.Duration, retries int, factor float64) func(stream.Stream[stream.Failure]) stream.Stream[time.Time] {
	return func(failures stream.Stream[stream.Failure]) stream.Stream[time.Time] {
		attempts := operators.ZipWith(failures, stream.Range(1, retries), func(_ stream.Failure, n int) int { return n })
		return join(attempts, func(n int) stream.Stream[time.Time] {
			return stream.Timer(time.Duration(math.Round(float64(delay) * float64(n*n) * factor)))
		})
	}
}

func flatMap(concurrency int) func(stream.Stream[int], func(int) stream.Stream[time.Time]) stream.Stream[time.Time] {
	return func(s stream.Stream[int], f func(int) stream.Stream[time.Time]) stream.Stream[time.Time] {
		return operators.FlatMap(s, concurrency, f)
	}
}

// attempts is a source whose attempts take 100 ms and fail until the last one; it notes when each of them starts.
func attempts(starts *[]time.Duration, failing int) stream.Stream[string] {
	var begun time.Time
	return stream.Defer(func(ctx context.Context) stream.Stream[string] {
		now := stream.ClockFrom(ctx).Now()
		if len(*starts) == 0 {
			begun = now
		}
		if *starts = append(*starts, now.Sub(begun)); len(*starts) > failing {
			return fromScript("100a 100|")
		}
		return fromScript("100#")
	})
}

func TestClassic_AttemptsComeAtExpBackoffsTimes(t *testing.T) {
	const u = 0.25
	for name, c := range map[string]struct {
		jitter  jitter.Jitter
		failing int
		want    []time.Duration
		end     string
	}{
		"no jitter, giving up": {jitter.None, 4,
			[]time.Duration{0, 1100 * ms, 5200 * ms, 14300 * ms}, "14400#"},
		"no jitter, the last retry succeeds": {jitter.None, 3,
			[]time.Duration{0, 1100 * ms, 5200 * ms, 14300 * ms}, "14400a 14400|"},
		"jitter of 0.925": {jitter.Default, 4,
			[]time.Duration{0, 1025 * ms, 4825 * ms, 13250 * ms}, "13350#"},
	} {
		bubble(t, name, func(t *testing.T) {
			forms := map[string]func(stream.Stream[string]) stream.Stream[string]{
				"ExpBackoff": func(src stream.Stream[string]) stream.Stream[string] {
					return src.RetryWhen(operators.ExpBackoff(c.jitter, time.Second, 3, retry.WithRand(func() float64 { return u })))
				},
				"classic, ConcatMap": func(src stream.Stream[string]) stream.Stream[string] {
					return operators.RetryWhen(src, classic(operators.ConcatMap[int, time.Time], time.Second, 3, c.jitter.Factor(u)))
				},
				"classic, FlatMap(1)": func(src stream.Stream[string]) stream.Stream[string] {
					return operators.RetryWhen(src, classic(flatMap(1), time.Second, 3, c.jitter.Factor(u)))
				},
				"classic, FlatMap": func(src stream.Stream[string]) stream.Stream[string] {
					return operators.RetryWhen(src, classic(flatMap(math.MaxInt), time.Second, 3, c.jitter.Factor(u)))
				},
			}
			for form, with := range forms {
				var starts []time.Duration
				got := play(t.Context(), with(attempts(&starts, c.failing)))
				if c.end[len(c.end)-1] == '#' && form == "ExpBackoff" {
					_, err := with(attempts(new([]time.Duration), c.failing)).Collect(t.Context())
					if !errors.Is(err, retry.ErrExhausted) || !errors.Is(err, errBoom) {
						t.Errorf("%s: %v", form, err)
					}
				}
				if !slices.Equal(starts, c.want) || got != c.end {
					t.Errorf("%s: attempts at %v, %s, want %v, %s", form, starts, got, c.want, c.end)
				}
			}
		})
	}
}
