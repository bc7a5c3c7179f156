package streamtest_test

import (
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// The same checks as Check over a table of sources, and checks that need a special source.
func ExampleCheckOperator() {
	check.GoTest("TestLatest", func(t *testing.T) {
		streamtest.CheckOperator(t, streamtest.Operator[int, int]{
			Apply:  func(src stream.Stream[int]) stream.Stream[int] { return src.Debounce(3 * time.Millisecond) },
			Values: []int{1, 2, 3},
			Ahead:  1, // one value waits until it is known to be the last
		})
	})
	// Output: TestLatest passed: true
}
