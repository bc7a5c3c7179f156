package stream_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestTimeShift(t *testing.T) {
	expectMarbles(t, map[string]marble{
		"values keep their distances":           {source: "-a-b--c--------|", want: "------a-b--c---|", subs: "^--------------!"},
		"the end waits for the last value":      {source: "-a-b|", want: "------a-(b|)", subs: "^---!"},
		"an error too, and drops none":          {source: "-a-b#", want: "------a-(b#)", subs: "^---!"},
		"the end of an empty source is in time": {source: "---|", want: "---|", subs: "^--!"},
		"a failure without a value too":         {source: "---#", want: "---#", subs: "^--!"},
		"one that ends at once":                 {source: "|", want: "|", subs: "(^!)"},
		"values of one instant":                 {source: "(abc|)", want: "-----(abc|)", subs: "(^!)"},
		"a value, then silence":                 {source: "-a-", want: "------a--", subs: "^"},
		"a silent one":                          {source: "-", want: "-", subs: "^"},
		"cancelled, it drops what is held":      {source: "-a-b-c-|", during: "-------!", want: "------a---", subs: "^------!"},
		"cancelled before the first value":      {source: "-a-b-c-|", during: "---!", want: "---------", subs: "^--!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.TimeShift(5*ms, 9)
	})
}

// When n values are held the source waits with the n-th, until the first one is done.
func TestTimeShift_HoldsAtMostN(t *testing.T) {
	for n, want := range map[int]string{
		1: "5ms a----b----c----(d|)", 2: "5ms (ab)-(cd|)", 3: "5ms (abc)(d|)", 4: "5ms (abcd|)",
	} {
		expectMarbles(t, map[string]marble{
			fmt.Sprint(n): {source: "(abcd|)", want: want, subs: map[int]string{1: "^-------------------!", 2: "^---------!", 3: "^----!", 4: "^----!"}[n]},
		}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
			return src.TimeShift(5*ms, n)
		})
		synctest.Test(t, func(t *testing.T) {
			made := 0
			src := stream.Range(1, 10).Tap(func(int) { made++ })
			ctx, cancel := context.WithTimeoutCause(t.Context(), 3*ms, errCause)
			defer cancel()
			if got, err := src.TimeShift(5*ms, n).Collect(ctx); got != nil || !endedBy(ctx, err) || made != n {
				t.Errorf("%d: %v, %v, %d values made", n, got, err, made)
			}
		})
	}
}

// The time of a value is that at which the source made it, also while the consumer is busy.
func TestTimeShift_ABusyConsumer(t *testing.T) {
	expectMarbles(t, map[string]marble{
		"for 4 ms": {source: "abc---------(d|)", want: "---------a---b---c---(d|)", subs: "^-----------!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.TimeShift(5*ms, 9).Tap(func(string) { time.Sleep(4 * ms) })
	})
}

func TestTimeShift_Stopped(t *testing.T) {
	expectMarbles(t, map[string]marble{
		"at the second value": {source: "ab---------c", want: "-----a(b|)", subs: "^-----!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.TimeShift(5*ms, 9).Take(2)
	})
}
