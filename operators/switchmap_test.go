package operators_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestSwitchMap_LatestOnly(t *testing.T) {
	session(t, "a new value cancels the inner stream", func(s *streamtest.Session) {
		src, each := streamtest.Cold[string](s, "a--b------c-|"), streamtest.Cold[string](s, "-x--X|")
		streamtest.Expect(s, operators.SwitchMap(src.Stream, spelled(each.Stream))).ToBe("-a--b--B---c--C|")
		src.Subscriptions("^-----------!")
		each.Subscriptions("^--!", "---^----!", "----------^----!")
	})
	session(t, "of values that come at once the last one counts", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.SwitchMap(cold(s, "(abc)|"), inner(s, "-x--X|"))).ToBe("-c--C|")
	})
	session(t, "stopped", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.SwitchMap(cold(s, "a---b"), inner(s, "-xX|")).Take(3)).ToBe("-aA--(b|)")
	})
}

func TestSwitchMap_InnerStreamHasReturnedBeforeTheNextStarts(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		var log []string
		each := windingDown(cold(s, "-x--|"), 2*ms)
		switched := operators.SwitchMap(cold(s, "a--b-|"), func(v string) stream.Stream[string] {
			log = append(log, "made "+v)
			return func(ctx context.Context, yield func(string) bool) error {
				log = append(log, "begun "+v)
				defer func() { log = append(log, "over "+v) }()
				return each(ctx, yield)
			}
		})
		streamtest.Expect(s, switched).ToBe("-x----x--|")
		if got := strings.Join(log, ", "); got != "made a, begun a, over a, made b, begun b, over b" {
			s.T().Error(got)
		}
	})
}

// Even a stream that ignores its context delivers no value after the switch.
func TestSwitchMap_NoValueAfterTheNewOne(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		deaf := func(v string) stream.Stream[string] {
			return func(_ context.Context, yield func(string) bool) error {
				for range 3 {
					time.Sleep(2 * ms)
					if !yield(v) {
						return errBoom // this does not count: the stream was cancelled
					}
				}
				return nil
			}
		}
		streamtest.Expect(s, operators.SwitchMap(cold(s, "a--b------|"), deaf)).ToBe("--a---b-b-(b|)")
	})
}

func TestSwitchMap_Errors(t *testing.T) {
	session(t, "one that a cancelled inner stream returns does not count", func(s *streamtest.Session) {
		each := cold(s, "-x---|")
		switched := operators.SwitchMap(cold(s, "a--b-|"), func(string) strs {
			return func(ctx context.Context, yield func(string) bool) error {
				if each(ctx, yield) != nil {
					return errBoom
				}
				return nil
			}
		})
		streamtest.Expect(s, switched).ToBe("-x--x---|")
	})
	t.Run("a panic of an inner stream passes through untouched", func(t *testing.T) {
		v := recovered(func() {
			_, _ = operators.SwitchMap(stream.Of("a"), func(string) stream.Stream[int] {
				return stream.Defer(func(context.Context) stream.Stream[int] { panic("mine") })
			}).Collect(t.Context())
		})
		if v != "mine" {
			t.Errorf("%v", v)
		}
	})
}

// While the consumer is busy the inner stream is cancelled, and s waits with its new value.
func TestSwitchMap_BusyConsumer(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		cancelled := make(chan time.Duration, 10)
		start := time.Now()
		s := operators.SwitchMap(fromScript("0a 20b 30c 200|"), func(v string) stream.Stream[string] {
			return func(ctx context.Context, yield func(string) bool) error {
				context.AfterFunc(ctx, func() { cancelled <- time.Since(start) })
				return operators.Map(fromScript("10x 20y 30|"), prefixed(v))(ctx, yield)
			}
		})
		got := playWith(t.Context(), s, func(string) bool { time.Sleep(100 * ms); return true })
		// a is cancelled at 20 while its x is in hand; b is taken at 110 and c, which waits, cancels it at once.
		if want := "10ax 120cx 220cy 320|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if at := <-cancelled; at != 20*ms {
			t.Errorf("cancelled at %v", at)
		}
	})
}
