package stream_test

import (
	"context"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestSkipLastAndTakeLast_OfMany(t *testing.T) {
	for n := range 12 {
		for length := range 30 {
			all, err := stream.Range(0, length).Collect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			left := max(0, length-n)
			expect(t, stream.Range(0, length).SkipLast(n), all[:left], nil)
			expect(t, stream.Range(0, length).TakeLast(n), all[left:], nil)
		}
	}
}

// However large n is, it takes the memory of the values that there are.
func TestTakeLast_HoldsWhatThereIs(t *testing.T) {
	expect(t, stream.Of(1, 2, 3).TakeLast(int(^uint(0)>>1)), []int{1, 2, 3}, nil)
	expect(t, stream.Of(1, 2, 3).SkipLast(int(^uint(0)>>1)), nil, nil)
}

func TestTakeLast_StopAndCancelAmongThem(t *testing.T) {
	var got []int
	err := stream.Range(0, 10).TakeLast(4)(t.Context(), func(v int) bool { got = append(got, v); return v < 7 })
	if err != nil || !slices.Equal(got, []int{6, 7}) {
		t.Errorf("got %v, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	got = nil
	err = stream.Range(0, 10).TakeLast(4).ForEach(ctx, func(v int) {
		if got = append(got, v); v == 7 {
			cancel(errCause)
		}
	})
	if !endedBy(ctx, err) || !slices.Equal(got, []int{6, 7}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestSkipLast_StopsAtOnce(t *testing.T) {
	made := 0
	expect(t, stream.Range(0, many).Tap(func(int) { made++ }).SkipLast(2).Take(3), []int{0, 1, 2}, nil)
	if made != 5 {
		t.Errorf("%d made for 3", made)
	}
}
