package stream_test

import (
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

func TestTap_SeesEachValueFirst(t *testing.T) {
	var order []int
	err := stream.Of(1, 2).Tap(func(v int) { order = append(order, v) }).
		ForEach(t.Context(), func(v int) { order = append(order, v*10) })
	if want := []int{1, 10, 2, 20}; err != nil || !slices.Equal(order, want) {
		t.Errorf("got %v, %v, want %v", order, err, want)
	}
}

func TestTap_OnTheCallersGoroutine(t *testing.T) {
	caller := virtual.Current().ID
	expect(t, stream.Of(1).Tap(func(int) {
		if virtual.Current().ID != caller {
			t.Error("f was called on another goroutine")
		}
	}), []int{1}, nil)
}
