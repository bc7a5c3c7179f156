package operators_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// combined are the operators that end when one of their streams does. They get two streams.
var combined = map[string]func(a, b strs) strs{
	"ZipWith":  func(a, b strs) strs { return operators.ZipWith(a, b, join) },
	"ZipSlice": func(a, b strs) strs { return joined(operators.ZipSlice(a, b)) },
	"ZipWith3": func(a, b strs) strs { return operators.ZipWith3(a, stream.Of("").Repeat(9), b, join3) },
	"ZipWith3, the second": func(a, b strs) strs {
		return operators.ZipWith3(a, b, stream.Of("").Repeat(9), join3)
	},
	"CombineLatest": func(a, b strs) strs { return operators.CombineLatest(a, b, join) },
	"CombineLatest3": func(a, b strs) strs {
		return operators.CombineLatest3(a, stream.Never[string](), b, join3)
	},
	"CombineLatestSlice": func(a, b strs) strs { return joined(operators.CombineLatestSlice(a, b)) },
}

// An end does not hide an error of another stream, but the error with which a stream obeys the cancel does not count.
func TestEndAtOnce_ErrorOfAnotherStream(t *testing.T) {
	// deaf ends after 3 ms, whatever its context says.
	deaf := func(err error) strs {
		return func(context.Context, func(string) bool) error { time.Sleep(3 * ms); return err }
	}
	for name, apply := range combined {
		session(t, name, func(s *streamtest.Session) {
			for _, c := range []struct {
				other strs
				want  string
			}{
				{cold(s, "-"), "--|"},
				{waitingForRetry, "--|"},
				{deaf(nil), "---|"},
				{deaf(errBoom), "---#"},
				{deaf(context.Canceled), "---|"},
				{deaf(errors.Join(errBoom, context.Canceled)), "---|"},
			} {
				streamtest.Expect(s, apply(cold(s, "--|"), c.other)).Error(errBoom).ToBe(c.want)
				streamtest.Expect(s, apply(c.other, cold(s, "--|"))).Error(errBoom).ToBe(c.want)
			}
		})
	}
}

// Of an end and an error at one instant either may be the result, and nothing else.
func TestEndAtOnce_EndAndErrorAtOneInstant(t *testing.T) {
	end, bad := stream.Empty[string](), stream.Fail[string](errBoom)
	for name, apply := range combined {
		t.Run(name, func(t *testing.T) {
			errs := 0
			for range 200 {
				for _, s := range []strs{apply(end, bad), apply(bad, end), apply(stream.Of("a"), stream.Of("b").MustNotEnd(errBoom))} {
					_, err := s.Collect(t.Context())
					if err != nil {
						if errs++; err != errBoom {
							t.Fatal(err)
						}
					}
				}
			}
			if errs < 300 {
				t.Errorf("the error was hidden in %d of 600 runs", 600-errs)
			}
		})
	}
	t.Run("a panic is never hidden", func(t *testing.T) {
		for range 200 {
			crash := strs(func(ctx context.Context, _ func(string) bool) error { <-ctx.Done(); panic(errBoom) })
			if recovered(func() { _, _ = operators.ZipSlice(end, crash).Collect(t.Context()) }) == nil {
				t.Fatal("no panic")
			}
		}
	})
}
