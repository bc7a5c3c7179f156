package mockclock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/examples/mockclock"
	"github.com/retrywhen/retrywhen/stream"
)

// TestPrices advances the mock clock itself. In the bubble, synctest.Wait returns when all goroutines wait for the
// clock. That makes the times exact.
func TestPrices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		start := mock.Now()
		var log []string
		note := func(format string, args ...any) {
			log = append(log, fmt.Sprintf("%v ", mock.Now().Sub(start))+fmt.Sprintf(format, args...))
		}
		calls := 0
		price := func(ctx context.Context) (float64, error) {
			switch calls++; calls {
			case 2, 3:
				note("call %d fails", calls)
				return 0, errors.New("no route to host")
			case 4:
				note("call %d hangs", calls)
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return float64(calls), nil
		}

		ctx, cancel := context.WithCancel(stream.WithClock(t.Context(), mock))
		values, errs := mockclock.Prices(price).Tap(func(v float64) { note("price %v", v) }).Chans(ctx, 100)
		for range 200 {
			synctest.Wait()
			mock.Add(time.Second)
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		for range values {
		}
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		want := []string{
			"0s price 1",
			"1m0s call 2 fails",
			"1m1s call 3 fails",
			"1m5s call 4 hangs", // until 1m15s, then 9 s
			"1m24s price 5",     // resets the delays
			"2m24s price 6",
		}
		if !slices.Equal(log, want) {
			t.Errorf("got\n%q\nwant\n%q", log, want)
		}
	})
}

// TestPricesWithoutAMock runs the same flow on the system's clock. In a bubble this clock is virtual too, so the test
// neither injects nor advances a clock.
func TestPricesWithoutAMock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		calls := 0
		price := func(context.Context) (float64, error) {
			if calls++; calls == 2 {
				return 0, errors.New("no route to host")
			}
			return 1, nil
		}
		err := mockclock.Prices(price).Take(3).ForEach(t.Context(), func(float64) { at = append(at, time.Since(start)) })
		if want := []time.Duration{0, 61 * time.Second, 121 * time.Second}; err != nil || !slices.Equal(at, want) {
			t.Errorf("prices at %v, %v; want %v", at, err, want)
		}
	})
}
