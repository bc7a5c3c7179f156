package stream_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestSkip(t *testing.T) {
	expect(t, stream.Of(1, 2, 3).Skip(2), []int{3}, nil)
	expect(t, stream.Of(1, 2, 3).Skip(5), nil, nil)
	expect(t, stream.Of(1, 2, 3).Skip(0), []int{1, 2, 3}, nil)
	expect(t, stream.Of(1).Concat(stream.Fail[int](errBoom)).Skip(2), nil, errBoom)
}
