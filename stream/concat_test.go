package stream_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestConcat_KeepsItsOwnListOfStreams(t *testing.T) {
	others := []stream.Stream[int]{stream.Of(2)}
	s := stream.Of(1).Concat(others...)
	others[0] = nil
	expect(t, s, []int{1, 2}, nil)
}
