package stream_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestTakeWhile_EndsAtTheFirstThatDoesNotHold(t *testing.T) {
	asked := 0
	s := stream.Of(1, 2, 3, 1).Concat(stream.Fail[int](errBoom)).TakeWhile(func(v int) bool { asked++; return v < 3 })
	expect(t, s, []int{1, 2}, nil)
	if asked != 3 {
		t.Errorf("f was asked %d times, want 3", asked)
	}
}
