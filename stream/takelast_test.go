package stream_test

import (
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
