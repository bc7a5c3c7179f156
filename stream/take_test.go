package stream_test

import (
	"math"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestTake_EndsRightAfterTheLast(t *testing.T) {
	made := 0
	s := stream.Range(1, 100).Tap(func(int) { made++ }).Take(2)
	expect(t, s, []int{1, 2}, nil)
	if made != 2 {
		t.Errorf("the source made %d values, want 2", made)
	}
}

func TestTake_DoesNotWaitForTheNext(t *testing.T) {
	expect(t, stream.Of(1, 2).Concat(stream.Never[int]()).Take(2), []int{1, 2}, nil)
}

func TestTake_AnErrorBehindTheLastIsNotSeen(t *testing.T) {
	expect(t, stream.Of(1, 2).Concat(stream.Fail[int](errBoom)).Take(2), []int{1, 2}, nil)
	expect(t, stream.Of(1, 2).Concat(stream.Fail[int](errBoom)).Take(3), []int{1, 2}, errBoom)
}

func TestTake_NothingDoesNotRunTheSource(t *testing.T) {
	s := stream.Stream[int](stream.Empty[int]()).Tap(func(int) {})
	ran := false
	expect(t, s.OnEnd(func(error) { ran = true }).Take(0), nil, nil)
	if ran {
		t.Error("the source was run")
	}
}

func TestTake_MoreThanThereIs(t *testing.T) {
	expect(t, stream.Of(1, 2).Take(math.MaxInt), []int{1, 2}, nil)
}
