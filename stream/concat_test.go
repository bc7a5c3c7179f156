package stream_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestConcat(t *testing.T) {
	expect(t, stream.Of(1).Concat(stream.Of(2), stream.Empty[int](), stream.Of(3, 4)), []int{1, 2, 3, 4}, nil)
}

func TestConcat_AnErrorEndsIt(t *testing.T) {
	ran := false
	last := stream.Of(3).OnEnd(func(error) { ran = true })
	expect(t, stream.Of(1).Concat(stream.Of(2).Concat(stream.Fail[int](errBoom)), last), []int{1, 2}, errBoom)
	if ran {
		t.Error("what follows the failure was run")
	}
}

func TestConcat_AStopEndsItAll(t *testing.T) {
	ran := false
	s := stream.Of(1, 2).Concat(stream.Of(3).OnEnd(func(error) { ran = true }))
	if err := s(t.Context(), func(v int) bool { return v < 2 }); err != nil || ran {
		t.Errorf("%v; the second was run: %v", err, ran)
	}
}

func TestConcat_KeepsItsOwnListOfStreams(t *testing.T) {
	others := []stream.Stream[int]{stream.Of(2)}
	s := stream.Of(1).Concat(others...)
	others[0] = nil
	expect(t, s, []int{1, 2}, nil)
}
