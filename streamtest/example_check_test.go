package streamtest_test

import (
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// The same as a table of sources for Check, and what only a source can see.
func ExampleCheckOperator() {
	goTest("TestLatest", func(t *testing.T) {
		streamtest.CheckOperator(t, streamtest.Operator[int, int]{
			Apply:  func(src stream.Stream[int]) stream.Stream[int] { return src.Debounce(3 * time.Millisecond) },
			Values: []int{1, 2, 3},
			Ahead:  1, // one value waits until it is known to be the last
		})
	})
	// Output: TestLatest passed: true
}
