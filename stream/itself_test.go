package stream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

// An operator that has nothing to do is the stream itself: the source runs on the caller's goroutine and under the
// caller's context, and not a value ahead.
func TestOperatorsThatDoNothingAreTheStreamItself(t *testing.T) {
	for name, operator := range map[string]func(stream.Stream[int]) stream.Stream[int]{
		"Delay(0)":           func(s stream.Stream[int]) stream.Stream[int] { return s.Delay(0) },
		"Debounce(0)":        func(s stream.Stream[int]) stream.Stream[int] { return s.Debounce(0) },
		"TimeShift(0, 9)":    func(s stream.Stream[int]) stream.Stream[int] { return s.TimeShift(0, 9) },
		"TakeUntilDone(nil)": func(s stream.Stream[int]) stream.Stream[int] { return s.TakeUntilDone(nil) },
		"Merge()":            func(s stream.Stream[int]) stream.Stream[int] { return s.Merge() },
		"Buffer(0)":          func(s stream.Stream[int]) stream.Stream[int] { return s.Buffer(0) },
		"ThrottleLatest(0)":  func(s stream.Stream[int]) stream.Stream[int] { return s.ThrottleLatest(0) },
		"Concat()":           func(s stream.Stream[int]) stream.Stream[int] { return s.Concat() },
	} {
		t.Run(name, func(t *testing.T) {
			var under context.Context
			made := 0
			src := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
				under = ctx
				for made < 3 {
					if made++; !yield(made) {
						return nil
					}
				}
				return nil
			})
			ctx := t.Context()
			if err := operator(src)(ctx, func(v int) bool {
				if v != made {
					t.Errorf("the source is at %d while the consumer processes %d", made, v)
				}
				return true
			}); err != nil || made != 3 {
				t.Errorf("%d values, %v", made, err)
			}
			if under != ctx {
				t.Error("the source ran under another context")
			}
		})
	}
}
