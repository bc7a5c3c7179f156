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

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ b, c, want, subs string }{
		"values as they come":                 {"--bc|", "-------d|", "-abc---d-e|", "^---------!"},
		"the first error cancels the others":  {"-----#", "--b-c-d", "-ab-c#", "^----!"},
		"an error at once, and one that ends": {"#", "|", "#", "(^!)"},
	} {
		session(t, name, func(s *streamtest.Session) {
			source := streamtest.Cold[string](s, "-a-------e|")
			others := []stream.Stream[string]{streamtest.Cold[string](s, c.b).Stream, streamtest.Cold[string](s, c.c).Stream}
			streamtest.Expect(s, source.Merge(others...)).ToBe(c.want)
			source.Subscriptions(c.subs)
		})
	}
}

// The consumer takes 10 ms for each value, the source 1 ms: with a buffer it never waits.
func TestBuffer_RunsAhead(t *testing.T) {
	for n, want := range []string{"11ms 0 10ms 1 10ms 2 10ms 3 10ms (4|)", "11ms 0 9ms 1 9ms 2 9ms 3 9ms (4|)"} {
		expectFlow(t, fmt.Sprint(n), func() stream.Stream[int] {
			return stream.Range(0, 5).Delay(ms).Buffer(n).Tap(func(int) { time.Sleep(10 * ms) })
		}, want, nil)
	}
}

func TestBuffer_WhatItHoldsIsDroppedAtACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		err := stream.Range(0, 5).Buffer(10).ForEach(ctx, func(int) {
			synctest.Wait()
			n++
			cancel(errCause)
		})
		if n != 1 || !endedBy(ctx, err) {
			t.Errorf("%d values, %v", n, err)
		}
	})
}
