package stream_test

import (
	"context"
	"fmt"
	"slices"
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

// The context of a source that another one's error has cancelled says no more than that.
func TestMerge_TheCauseOfACancelledSource(t *testing.T) {
	var ended error
	endless := stream.Never[int]().OnEnd(func(err error) { ended = err })
	expect(t, endless.Merge(stream.Fail[int](errBoom)), nil, errBoom)
	if ended != context.Canceled {
		t.Errorf("the other ended with %v, want context.Canceled", ended)
	}
}

func TestMerge_WaitsForSourcesThatTakeTheirTimeToEnd(t *testing.T) {
	slow := stream.Never[int]().OnEnd(func(error) { time.Sleep(time.Second) })
	expectFlow(t, "", func() stream.Stream[int] { return slow.Merge(stream.Fail[int](errBoom)) }, "1s #", errBoom)
}

func TestMerge_ASourceIsAsFarAsItsConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := [2]int{}
		src := func(i int) stream.Stream[int] {
			return stream.Range(0, 3).Filter(func(int) bool { made[i]++; return true })
		}
		seen := 0
		err := src(0).Merge(src(1)).ForEach(t.Context(), func(int) {
			synctest.Wait()
			if seen++; made[0]+made[1] > seen+1 {
				t.Errorf("%d values made while value %d was in hand", made[0]+made[1], seen)
			}
		})
		if err != nil || seen != 6 {
			t.Errorf("%d values, %v", seen, err)
		}
	})
}

func TestMerge_Retried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		flaky := stream.Defer(func(context.Context) stream.Stream[int] {
			if runs++; runs < 3 {
				return stream.Fail[int](errBoom)
			}
			return stream.Of(7)
		})
		expect(t, flaky.Merge(stream.Empty[int]()).Retry(5), []int{7}, nil)
		runs = 0
		expect(t, flaky.Retry(5).Merge(stream.Empty[int]()), []int{7}, nil)
	})
}

func TestMerge_ManySources(t *testing.T) {
	var others []stream.Stream[int]
	for i := range 100 {
		others = append(others, stream.Range(i*10, 10))
	}
	got, err := stream.Empty[int]().Merge(others...).Collect(t.Context())
	slices.Sort(got)
	want, _ := stream.Range(0, 1000).Collect(t.Context())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d values, %v", len(got), err)
	}
}

func TestMerge_OfFailuresKeepsOne(t *testing.T) {
	for range 100 {
		expect(t, stream.Fail[int](errBoom).Merge(stream.Fail[int](errBoom)), nil, errBoom)
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

func TestBuffer_ValuesBeforeTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 2, 3, 10, 1000} {
			s := stream.Range(0, 5).Concat(stream.Fail[int](errBoom)).Buffer(n).Tap(func(int) { synctest.Wait() })
			expect(t, s, []int{0, 1, 2, 3, 4}, errBoom)
		}
	})
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

// A source learns that the consumer has stopped from yield, before it makes another value.
func TestMerge_TheConsumerStops(t *testing.T) {
	var told []bool
	src := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		told = append(told, yield(1))
		return nil
	})
	expect(t, src.Merge(stream.Never[int]()).Take(1), []int{1}, nil)
	if !slices.Equal(told, []bool{false}) {
		t.Errorf("yield returned %v, want false", told)
	}
}
