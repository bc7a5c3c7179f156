package op_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/op"
)

// feed is a stream type of another package, with methods.
type feed func(ctx context.Context, yield func(int) bool) error

func (f feed) plus(n int) feed {
	return op.Map("feed", f, func(v int) int { return v + n })
}

func (f feed) twice() feed {
	return op.FlatMap("feed", f, 1, func(v int) feed { return numbers(v, v) })
}

func numbers(v ...int) feed {
	return func(_ context.Context, yield func(int) bool) error {
		for _, each := range v {
			if !yield(each) {
				return nil
			}
		}
		return nil
	}
}

func collect(s op.Stream[int]) (all []int, err error) {
	err = s(context.Background(), func(v int) bool { all = append(all, v); return true })
	return all, err
}

func TestMethodsOfAnotherStreamType(t *testing.T) {
	got, err := collect(numbers(1, 2).plus(10).twice())
	if err != nil || !slices.Equal(got, []int{11, 11, 12, 12}) {
		t.Error(got, err)
	}
}

// The panics and errors of an operator name the package that exports it.
func TestNamesAreThoseOfTheCaller(t *testing.T) {
	for want, build := range map[string]func(){
		"feed: Map: s is nil":                        func() { feed(nil).plus(1) },
		"feed: Batch: most is 0, want at least 1":    func() { op.Batch[int, []int]("feed", numbers(), 0, 0) },
		"feed: Batch: wait is -1ns, want at least 0": func() { op.Batch[int, []int]("feed", numbers(), 1, -1) },
		"feed: DistinctBy: key is nil":               func() { op.Distinct[int, int]("feed", "DistinctBy", numbers(), nil) },
		"feed: ShareN: n is 0, want at least 1":      func() { op.Share[int]("feed", "ShareN", numbers(), 0) },
		"feed: FlatMap: concurrency is 0, want at least 1": func() {
			op.FlatMap("feed", numbers(), 0, func(int) feed { return nil })
		},
	} {
		check.Panics(t, want, build)
	}
	none := func(int) feed { return nil }
	for want, s := range map[string]op.Stream[int]{
		"feed: ConcatMap: f returned a nil stream": op.ConcatMap("feed", numbers(1), none),
		"feed: FlatMap: f returned a nil stream":   op.FlatMap("feed", numbers(1), 2, none),
		"feed: SwitchMap: f returned a nil stream": op.SwitchMap("feed", numbers(1), none),
	} {
		if _, err := collect(s); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	again := op.Window("feed", numbers(1), 1, 0, func(w feed) feed {
		return op.ConcatMap("feed", numbers(1, 2), func(int) feed { return w })
	})
	want := "feed: Window: a window is run once, while f's stream runs: " + ending.ErrNotRestartable.Error()
	if _, err := collect(again); !errors.Is(err, ending.ErrNotRestartable) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
