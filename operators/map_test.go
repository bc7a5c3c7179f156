package operators_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func add(a, b int) int            { return a + b }
func join(a, b string) string     { return a + b }
func prefixed(p string) stringMap { return func(v string) string { return p + v } }

type stringMap = func(string) string

func TestMap_KeepsTheTimes(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		streamtest.Expect(s, operators.Map(cold(s, "-a(bc)--|"), strings.ToUpper)).ToBe("-A(BC)--|")
		streamtest.Expect(s, operators.Map(cold(s, "-a#"), strings.ToUpper)).ToBe("-A#")
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
	session(t, "is not asked for the end of the context", func(s *streamtest.Session) {
		expectCancelled(s, operators.MapErr(cold(s, "-a"), never), "--!", "-a-")
	})
}

func TestScan(t *testing.T) {
	session(t, "one result for each value", func(s *streamtest.Session) {
		results := map[string]string{"A": "-a", "B": "-ab", "C": "-abc"}
		streamtest.Expect(s, operators.Scan(cold(s, "-abc|"), "-", join)).ToBeWith("-ABC|", results)
		streamtest.Expect(s, operators.Scan(cold(s, "-|"), "-", join)).ToBe("-|")
		streamtest.Expect(s, operators.Scan(cold(s, "-a#"), "-", join)).ToBeWith("-A#", results)
	})
	t.Run("each run begins with the seed", func(t *testing.T) {
		s := operators.Scan(stream.Of(1, 2), 10, add)
		for range 2 {
			expectValues(t, s, []int{11, 13}, nil)
		}
	})
}

func TestReduce(t *testing.T) {
	session(t, "the result comes at the end", func(s *streamtest.Session) {
		results := map[string]string{"S": "-", "C": "-abc"}
		streamtest.Expect(s, operators.Reduce(cold(s, "-abc|"), "-", join)).ToBeWith("----(C|)", results)
		streamtest.Expect(s, operators.Reduce(cold(s, "-|"), "-", join)).ToBeWith("-(S|)", results)
		streamtest.Expect(s, operators.Reduce(cold(s, "-a#"), "-", join)).ToBe("--#")
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
	streamtest.Run(t, func(s *streamtest.Session) {
		streamtest.Expect(s, operators.Count(cold(s, "-ab-|"))).ToBe("----(2|)")
		streamtest.Expect(s, operators.Count(cold(s, "----|"))).ToBe("----(0|)")
		streamtest.Expect(s, operators.Count(cold(s, "-a--#"))).ToBe("----#")
	})
}

func TestFirst(t *testing.T) {
	session(t, "stops the source at its first value", func(s *streamtest.Session) {
		src := streamtest.Cold[string](s, "-ab")
		streamtest.Expect(s, operators.First(src.Stream)).ToBe("-(a|)")
		src.Subscriptions("^!")
	})
	t.Run("empty: ErrEmpty", func(t *testing.T) {
		_, err := operators.First(stream.Empty[string]()).Collect(t.Context())
		if err != operators.ErrEmpty || err != stream.ErrEmpty {
			t.Error(err)
		}
	})
	session(t, "failing", func(s *streamtest.Session) { streamtest.Expect(s, operators.First(cold(s, "-#"))).ToBe("-#") })
}

func TestLast(t *testing.T) {
	session(t, "comes when the source has ended", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.Last(cold(s, "-ab-|"))).ToBe("----(b|)")
		streamtest.Expect(s, operators.Last(cold(s, "-a#"))).ToBe("--#")
	})
	t.Run("empty: ErrEmpty", func(t *testing.T) {
		_, err := operators.Last(stream.Empty[string]()).Collect(t.Context())
		if err != operators.ErrEmpty || err != stream.ErrEmpty {
			t.Error(err)
		}
	})
	t.Run("stopped and cancelled at the value: no error", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		if err := operators.Last(stream.Of(1, 2))(ctx, func(int) bool { cancel(); return false }); err != nil {
			t.Error(err)
		}
	})
}

func TestPairwise(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		pairs := map[string]operators.Pair[string, string]{"B": {"a", "b"}, "C": {"b", "c"}}
		streamtest.Expect(s, operators.Pairwise(cold(s, "-abc|"))).ToBeWith("--BC|", pairs)
		streamtest.Expect(s, operators.Pairwise(cold(s, "-a--|"))).ToBeWith("----|", pairs)
		streamtest.Expect(s, operators.Pairwise(cold(s, "-ab#"))).ToBeWith("--B#", pairs)
	})
}

func TestDistinct(t *testing.T) {
	session(t, "values", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.Distinct(cold(s, "-abacb|"))).ToBe("-ab-c-|")
		streamtest.Expect(s, operators.Distinct(cold(s, "-aa#"))).ToBe("-a-#")
	})
	session(t, "keys", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.DistinctBy(cold(s, "-abAcB|"), strings.ToLower)).ToBe("-ab-c-|")
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
	session(t, "values", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.DistinctUntilChanged(cold(s, "-aabba|"))).ToBe("-a-b-a|")
		streamtest.Expect(s, operators.DistinctUntilChanged(cold(s, "-aa#"))).ToBe("-a-#")
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
	session(t, "one stream after the other, the source waits", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.ConcatMap(cold(s, "ab-----c|"), inner(s, "-x--X|"))).ToBe("-a--A-b--B-c--C|")
	})
	session(t, "the source fails", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.ConcatMap(cold(s, "a------#"), inner(s, "-x--X|"))).ToBe("-a--A--#")
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
	upper := func(_ context.Context, v string) (string, error) {
		if v == "x" {
			return "N", errBoom
		}
		return strings.ToUpper(v), nil
	}
	session(t, "values", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.TryMap(cold(s, "-ab|"), upper)).ToBe("-AB|")
		streamtest.Expect(s, operators.TryMap(cold(s, "-a#"), upper)).ToBe("-A#")
	})
	session(t, "f's error ends the stream, and the source is stopped", func(s *streamtest.Session) {
		src := streamtest.Cold[string](s, "-axc")
		streamtest.Expect(s, operators.TryMap(src.Stream, upper)).Error(errBoom).ToBe("-A#")
		src.Subscriptions("^-!")
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
		_, err := operators.TryMap(stream.Of("a", "b").Delay(10*ms), slow).Collect(cancelAt(t, 45*ms))
		if !errors.Is(err, errCause) || !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
	session(t, "a retry runs all again", func(s *streamtest.Session) {
		failed := false
		once := func(_ context.Context, v string) (string, error) {
			if v == "b" && !failed {
				failed = true
				return "", errBoom
			}
			return v, nil
		}
		streamtest.Expect(s, operators.TryMap(cold(s, "-ab|"), once).Retry(1)).ToBe("-a-ab|")
	})
}

func TestTryFilter(t *testing.T) {
	vowels := func(_ context.Context, v string) (bool, error) {
		if v == "x" {
			return true, errBoom
		}
		return v == "a" || v == "e", nil
	}
	session(t, "values", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.TryFilter(cold(s, "-abe|"), vowels)).ToBe("-a-e|")
		streamtest.Expect(s, operators.TryFilter(cold(s, "-a#"), vowels)).ToBe("-a#")
	})
	session(t, "keep's error ends the stream, and the source is stopped", func(s *streamtest.Session) {
		src := streamtest.Cold[string](s, "-axe")
		streamtest.Expect(s, operators.TryFilter(src.Stream, vowels)).Error(errBoom).ToBe("-a#")
		src.Subscriptions("^-!")
	})
}
