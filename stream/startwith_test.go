package stream_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestStartWith_KeepsItsOwnList(t *testing.T) {
	first := []int{1}
	s := stream.Of(2).StartWith(first...)
	first[0] = 9
	expect(t, s, []int{1, 2}, nil)
}
