package stream_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestSkipWhile_AsksNoMoreOnceItIsFalse(t *testing.T) {
	asked := 0
	s := stream.Of(1, 2, 3, 1).SkipWhile(func(v int) bool { asked++; return v < 3 })
	expect(t, s, []int{3, 1}, nil)
	if asked != 3 {
		t.Errorf("f was called %d times, want 3", asked)
	}
}
