package operators_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

func TestSwitchMap_LatestOnly(t *testing.T) {
	inner := func(v string) stream.Stream[string] { return operators.Map(cold("10x 20y 40z 50|"), prefixed(v)) }
	bubble(t, "a new value cancels the inner stream", func(t *testing.T) {
		expectBoth(t, operators.SwitchMap(cold("0a 30b 100c 110|"), inner),
			"10ax 20ay 40bx 50by 70bz 110cx 120cy 140cz 150|")
	})
	bubble(t, "of values that come at once the last one counts", func(t *testing.T) {
		expect(t, operators.SwitchMap(cold("0a 0b 0c 10|"), inner), "10cx 20cy 40cz 50|")
	})
	bubble(t, "stopped", func(t *testing.T) {
		expect(t, operators.SwitchMap(cold("0a 30b"), inner).Take(3), "10ax 20ay 40bx 40|")
	})
}

func TestSwitchMap_InnerStreamHasReturnedBeforeTheNextStarts(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var log []string
		s := operators.SwitchMap(cold("0a 30b 40|"), func(v string) stream.Stream[string] {
			log = append(log, "made "+v)
			return func(ctx context.Context, yield func(string) bool) error {
				log = append(log, "begun "+v)
				defer func() { log = append(log, "over "+v) }()
				return windingDown(cold("10x 50|"), 7*ms)(ctx, yield)
			}
		})
		expect(t, s, "10x 47x 87|")
		if got := strings.Join(log, ", "); got != "made a, begun a, over a, made b, begun b, over b" {
			t.Error(got)
		}
	})
}

// Even a stream that ignores its context delivers no value after the switch.
func TestSwitchMap_NoValueAfterTheNewOne(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		deaf := func(v string) stream.Stream[string] {
			return func(_ context.Context, yield func(string) bool) error {
				for range 3 {
					time.Sleep(10 * ms)
					if !yield(v) {
						return errBoom // this does not count: the stream was cancelled
					}
				}
				return nil
			}
		}
		expect(t, operators.SwitchMap(cold("0a 15b 50|"), deaf), "10a 30b 40b 50b 50|")
	})
}

func TestSwitchMap_Errors(t *testing.T) {
	bubble(t, "one that a cancelled inner stream returns does not count", func(t *testing.T) {
		s := operators.SwitchMap(cold("0a 30b 40|"), func(v string) stream.Stream[string] {
			return operators.MapErr(cold("10x 50|"), func(error) error { return nil }).OnEnd(func(error) {})
		})
		expect(t, s, "10x 40x 80|")
	})
	bubble(t, "a panic of an inner stream passes through untouched", func(t *testing.T) {
		v := recovered(func() {
			_, _ = operators.SwitchMap(cold("0a"), func(string) stream.Stream[int] {
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
		s := operators.SwitchMap(cold("0a 20b 30c 200|"), func(v string) stream.Stream[string] {
			return func(ctx context.Context, yield func(string) bool) error {
				context.AfterFunc(ctx, func() { cancelled <- time.Since(start) })
				return operators.Map(cold("10x 20y 30|"), prefixed(v))(ctx, yield)
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
