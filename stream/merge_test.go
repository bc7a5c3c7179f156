package stream_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

func TestMerge_ValuesAsTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := at(event[int]{1 * ms, 1}, event[int]{4 * ms, 4}, event[int]{9 * ms, 9})
		b := at(event[int]{2 * ms, 2}, event[int]{3 * ms, 3})
		c := at(event[int]{7 * ms, 7})
		expectTimes(t, a.Merge(b, c), []event[int]{{1 * ms, 1}, {2 * ms, 2}, {3 * ms, 3}, {4 * ms, 4}, {7 * ms, 7}, {9 * ms, 9}}, 9*ms, nil)
	})
}

func TestMerge_TheFirstErrorCancelsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended error
		endless := stream.Interval(2 * ms).OnEnd(func(err error) { ended = err })
		failing := stream.Timer(5 * ms).Concat(stream.Fail[time.Time](errBoom))
		got, at, err := timeline(t.Context(), endless.Merge(failing))
		if len(got) != 3 || at != 5*ms || err != errBoom {
			t.Errorf("%d values, ended at %v with %v", len(got), at, err)
		}
		if ended != context.Canceled {
			t.Errorf("the other ended with %v, want context.Canceled", ended)
		}
	})
}

func TestMerge_WaitsForSourcesThatTakeTheirTimeToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil
		})
		_, at, err := timeline(t.Context(), slow.Merge(stream.Fail[int](errBoom)))
		if at != time.Second || err != errBoom {
			t.Errorf("ended at %v with %v", at, err)
		}
	})
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
		_, err := stream.Fail[int](errBoom).Merge(stream.Fail[int](errBoom)).Collect(t.Context())
		if !errors.Is(err, errBoom) {
			t.Fatal(err)
		}
	}
}

func TestBuffer_RunsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The consumer takes 10 ms for each value, the source 1 ms: with a buffer it never waits.
		fast := stream.Range(0, 5).Delay(1 * ms)
		times := func(s stream.Stream[int]) (at []time.Duration) {
			start := time.Now()
			_ = s.ForEach(t.Context(), func(int) {
				at = append(at, time.Since(start))
				time.Sleep(10 * ms)
			})
			return at
		}
		if got, want := times(fast), []time.Duration{1 * ms, 12 * ms, 23 * ms, 34 * ms, 45 * ms}; !slices.Equal(got, want) {
			t.Errorf("unbuffered: %v, want %v", got, want)
		}
		if got, want := times(fast.Buffer(1)), []time.Duration{1 * ms, 11 * ms, 21 * ms, 31 * ms, 41 * ms}; !slices.Equal(got, want) {
			t.Errorf("buffered: %v, want %v", got, want)
		}
	})
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
