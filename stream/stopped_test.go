package stream_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// A source may break its contract: it goes on after its consumer has stopped, and then fails. These operators neither
// call the consumer again nor return that error.
func TestAConsumerThatHasStoppedIsLeftAlone(t *testing.T) {
	rude := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		for v := range 4 {
			if yield(v) {
				t.Errorf("yield of %d returned true", v)
			}
		}
		return errBoom
	})
	using := func(context.Context) (int, error) { return 0, nil }
	for name, s := range map[string]stream.Stream[int]{
		"FromSeq": stream.FromSeq(func(yield func(int) bool) { _ = rude(t.Context(), yield) }),
		"FromSeq2": stream.FromSeq2(func(ctx context.Context) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) { _ = rude(ctx, func(v int) bool { return yield(v, nil) }) }
		}),
		"RetryWhen": rude.RetryWhen(atOnce),
		"Using":     stream.Using(using, func(int) stream.Stream[int] { return rude }, func(int) error { return nil }),
		"All": func(ctx context.Context, yield func(int) bool) error {
			for v, err := range rude.All(ctx) { // which panics at a value after the break
				if err != nil || !yield(v) {
					return err
				}
			}
			return nil
		},
		"Catch":      rude.Catch(func(error) stream.Stream[int] { return stream.Of(9) }),
		"Concat":     rude.Concat(stream.Of(9)),
		"ConcatMap":  operators.ConcatMap(stream.Of(0, 0), func(int) stream.Stream[int] { return rude }),
		"First":      operators.First(rude),
		"MapErr":     operators.MapErr(rude, func(error) error { return errCause }),
		"MustNotEnd": rude.MustNotEnd(errCause),
		"OnEnd":      rude.OnEnd(func(error) {}),
		"Repeat":     rude.Repeat(2),
		"StartWith":  rude.StartWith(),
		"Take":       rude.Take(3),
		"TakeWhile":  rude.TakeWhile(func(int) bool { return true }),
		"TryFilter":  operators.TryFilter(rude, func(context.Context, int) (bool, error) { return true, nil }),
		"TryMap":     operators.TryMap(rude, func(_ context.Context, v int) (int, error) { return v, nil }),
	} {
		var got []int
		err := s(t.Context(), func(v int) bool { got = append(got, v); return false })
		if err != nil || !slices.Equal(got, []int{0}) {
			t.Errorf("%s: got %v and %v, want [0] and no error", name, got, err)
		}
	}
}

// An error of a function ends the run, whatever the source does afterwards.
func TestAFailedFunctionIsNotCalledAgain(t *testing.T) {
	rude := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		for v := range 4 {
			yield(v)
		}
		return errCause
	})
	calls := 0
	for name, s := range map[string]stream.Stream[int]{
		"TryFilter": operators.TryFilter(rude, func(context.Context, int) (bool, error) { calls++; return true, errBoom }),
		"TryMap":    operators.TryMap(rude, func(_ context.Context, v int) (int, error) { calls++; return v, errBoom }),
	} {
		calls = 0
		if got, err := s.Collect(t.Context()); err != errBoom || len(got) != 0 || calls != 1 {
			t.Errorf("%s: got %v and %v after %d calls, want %v after one", name, got, err, calls, errBoom)
		}
	}
}
