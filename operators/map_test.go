package operators_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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
