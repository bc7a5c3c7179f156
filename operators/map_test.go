package operators_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

func add(a, b int) int            { return a + b }
func join(a, b string) string     { return a + b }
func letter(v string) byte        { return v[0] }
func prefixed(p string) stringMap { return func(v string) string { return p + v } }

type stringMap = func(string) string

func TestMap_KeepsTheTimes(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		expect(t, operators.Map(cold("10a 20b 20c 50|"), prefixed("x")), "10xa 20xb 20xc 50|")
		expect(t, operators.Map(cold("10a 20#"), prefixed("x")), "10xa 20#")
	})
}

func TestMapErr(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("reading: %w", err) }
	t.Run("answers the failure", func(t *testing.T) {
		_, err := operators.MapErr(stream.Fail[int](errBoom), wrap).Collect(t.Context())
		if !errors.Is(err, errBoom) || err.Error() != "reading: boom" {
			t.Error(err)
		}
	})
	t.Run("nil is a good end", func(t *testing.T) {
		s := operators.MapErr(stream.Of(1).Concat(stream.Fail[int](io.EOF)), func(error) error { return nil })
		expectValues(t, s, []int{1}, nil)
	})
	never := func(err error) error { t.Errorf("asked for %v", err); return nil }
	t.Run("is not asked for a good end", func(t *testing.T) {
		expectValues(t, operators.MapErr(stream.Of(1), never), []int{1}, nil)
	})
	t.Run("is not asked for the consumer's stop", func(t *testing.T) {
		expectValues(t, operators.MapErr(stream.Of(1, 2), never).Take(1), []int{1}, nil)
	})
	bubble(t, "is not asked for the end of the context", func(t *testing.T) {
		expectCancelled(t, 20*ms, operators.MapErr(cold("10a"), never), "10a 20!")
	})
}

func TestScan(t *testing.T) {
	bubble(t, "one result for each value", func(t *testing.T) {
		expect(t, operators.Scan(cold("10a 20b 30c 40|"), "-", join), "10-a 20-ab 30-abc 40|")
		expect(t, operators.Scan(cold("10|"), "-", join), "10|")
		expect(t, operators.Scan(cold("10a 20#"), "-", join), "10-a 20#")
	})
	t.Run("each run begins with the seed", func(t *testing.T) {
		s := operators.Scan(stream.Of(1, 2), 10, add)
		for range 2 {
			expectValues(t, s, []int{11, 13}, nil)
		}
	})
}

func TestReduce(t *testing.T) {
	bubble(t, "the result comes at the end", func(t *testing.T) {
		expect(t, operators.Reduce(cold("10a 20b 30c 40|"), "-", join), "40-abc 40|")
	})
	bubble(t, "empty: the seed", func(t *testing.T) {
		expect(t, operators.Reduce(cold("10|"), "-", join), "10- 10|")
	})
	bubble(t, "failing: no result", func(t *testing.T) {
		expect(t, operators.Reduce(cold("10a 20#"), "-", join), "20#")
	})
	t.Run("each run begins with the seed", func(t *testing.T) {
		s := operators.Reduce(stream.Of(1, 2), 10, add)
		for range 2 {
			expectValues(t, s, []int{13}, nil)
		}
	})
	t.Run("cancelled while its result is in hand", func(t *testing.T) {
		for name, s := range map[string]stream.Stream[int]{
			"Reduce": operators.Reduce(stream.Of(1), 0, add),
			"Count":  operators.Count(stream.Of(1)),
			"Last":   operators.Last(stream.Of(1)),
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			if err := s.ForEach(ctx, func(int) { cancel(errCause) }); !errors.Is(err, errCause) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestCount(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		expect(t, operators.Count(cold("10a 20b 40|")), "402 40|")
		expect(t, operators.Count(cold("40|")), "400 40|")
		expect(t, operators.Count(cold("10a 40#")), "40#")
	})
}

func TestFirst(t *testing.T) {
	bubble(t, "stops the source at its first value", func(t *testing.T) {
		returned := 0
		expect(t, operators.First(returns(cold("10a 20b"), &returned)), "10a 10|")
		if returned != 1 {
			t.Error("the source has not returned")
		}
	})
	bubble(t, "empty: ErrEmpty", func(t *testing.T) {
		_, err := operators.First(cold("10|")).Collect(t.Context())
		if err != operators.ErrEmpty || err != stream.ErrEmpty {
			t.Error(err)
		}
	})
	bubble(t, "failing", func(t *testing.T) { expect(t, operators.First(cold("10#")), "10#") })
}

func TestLast(t *testing.T) {
	bubble(t, "comes when the source has ended", func(t *testing.T) {
		expect(t, operators.Last(cold("10a 20b 40|")), "40b 40|")
	})
	bubble(t, "empty: ErrEmpty", func(t *testing.T) {
		_, err := operators.Last(cold("10|")).Collect(t.Context())
		if err != operators.ErrEmpty || err != stream.ErrEmpty {
			t.Error(err)
		}
	})
	bubble(t, "failing: no value", func(t *testing.T) { expect(t, operators.Last(cold("10a 20#")), "20#") })
}

func TestPairwise(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		expect(t, operators.Pairwise(cold("10a 20b 30c 40|")), "20(a, b) 30(b, c) 40|")
		expect(t, operators.Pairwise(cold("10a 40|")), "40|")
		expect(t, operators.Pairwise(cold("10a 20b 30#")), "20(a, b) 30#")
	})
}

func TestDistinct(t *testing.T) {
	bubble(t, "values", func(t *testing.T) {
		expect(t, operators.Distinct(cold("10a 20b 30a 40c 50b 60|")), "10a 20b 40c 60|")
		expect(t, operators.Distinct(cold("10a 20a 30#")), "10a 30#")
	})
	bubble(t, "keys", func(t *testing.T) {
		expect(t, operators.DistinctBy(cold("10a 20b 30ax 40c 50bx 60|"), letter), "10a 20b 40c 60|")
	})
	t.Run("each run remembers its own", func(t *testing.T) {
		s := operators.Distinct(stream.Of(1, 1, 2))
		for range 2 {
			expectValues(t, s, []int{1, 2}, nil)
		}
	})
	t.Run("no NaN equals another", func(t *testing.T) {
		got, err := operators.Distinct(stream.Of(math.NaN(), math.NaN(), 1, 1)).Collect(t.Context())
		if len(got) != 3 || err != nil {
			t.Error(got, err)
		}
	})
}

func TestDistinctUntilChanged(t *testing.T) {
	bubble(t, "values", func(t *testing.T) {
		expect(t, operators.DistinctUntilChanged(cold("10a 20a 30b 40b 50a 60|")), "10a 30b 50a 60|")
		expect(t, operators.DistinctUntilChanged(cold("10a 20a 30#")), "10a 30#")
	})
	t.Run("by a key", func(t *testing.T) {
		tens := func(v int) int { return v / 10 }
		expectValues(t, operators.DistinctUntilChangedBy(stream.Of(1, 2, 11, 12, 13, 5, 25), tens), []int{1, 11, 5, 25}, nil)
	})
	t.Run("the zero value is a value", func(t *testing.T) {
		expectValues(t, operators.DistinctUntilChanged(stream.Of(0, 0, 1)), []int{0, 1}, nil)
	})
}

func TestConcatMap(t *testing.T) {
	inner := func(v string) stream.Stream[string] { return operators.Map(cold("10x 40y 50|"), prefixed(v)) }
	bubble(t, "one stream after the other, the source waits", func(t *testing.T) {
		expect(t, operators.ConcatMap(cold("0a 10b 70c 80|"), inner), "10ax 40ay 60bx 90by 110cx 140cy 150|")
	})
	bubble(t, "the source fails", func(t *testing.T) {
		expect(t, operators.ConcatMap(cold("0a 70#"), inner), "10ax 40ay 70#")
	})
	t.Run("a bad source that goes on", func(t *testing.T) {
		bad := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
			yield(1)
			yield(2)
			return nil
		})
		called := 0
		s := operators.ConcatMap(bad, func(int) stream.Stream[int] { called++; return stream.Fail[int](errBoom) })
		if _, err := s.Collect(t.Context()); err != errBoom || called != 1 {
			t.Error(called, err)
		}
	})
}

func TestTryMap(t *testing.T) {
	digits := func(_ context.Context, v string) (string, error) {
		if v == "x" {
			return "not this", errBoom
		}
		return v + v, nil
	}
	bubble(t, "values", func(t *testing.T) {
		expect(t, operators.TryMap(cold("10a 20b 30|"), digits), "10aa 20bb 30|")
		expect(t, operators.TryMap(cold("10a 20#"), digits), "10aa 20#")
	})
	bubble(t, "f's error ends the stream, and the source is stopped", func(t *testing.T) {
		n := 0
		expect(t, operators.TryMap(returns(cold("10a 20x 30c"), &n), digits), "10aa 20#")
		if n != 1 {
			t.Error("the source has not returned")
		}
	})
	bubble(t, "f has the context of the run; at its end its cause comes first", func(t *testing.T) {
		slow := func(ctx context.Context, v string) (string, error) {
			select {
			case <-time.After(20 * ms):
				return v, nil
			case <-ctx.Done():
				return "", errBoom
			}
		}
		_, err := operators.TryMap(cold("10a 11b"), slow).Collect(cancelAt(t, 40*ms))
		if !errors.Is(err, errCause) || !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
	bubble(t, "a retry runs all again", func(t *testing.T) {
		failed := false
		once := func(_ context.Context, v string) (string, error) {
			if v == "b" && !failed {
				failed = true
				return "", errBoom
			}
			return v, nil
		}
		expect(t, operators.TryMap(cold("10a 20b 30|"), once).Retry(1), "10a 30a 40b 50|")
	})
}

func TestTryFilter(t *testing.T) {
	vowels := func(_ context.Context, v string) (bool, error) {
		if v == "x" {
			return true, errBoom
		}
		return v == "a" || v == "e", nil
	}
	bubble(t, "values", func(t *testing.T) {
		expect(t, operators.TryFilter(cold("10a 20b 30e 40|"), vowels), "10a 30e 40|")
		expect(t, operators.TryFilter(cold("10a 20#"), vowels), "10a 20#")
	})
	bubble(t, "keep's error ends the stream, and the source is stopped", func(t *testing.T) {
		n := 0
		expect(t, operators.TryFilter(returns(cold("10a 20x 30e"), &n), vowels), "10a 20#")
		if n != 1 {
			t.Error("the source has not returned")
		}
	})
}
