package stream_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// sources are those that yield 1, 2, 3 and end.
func sources() map[string]func() stream.Stream[int] {
	type s = stream.Stream[int]
	return map[string]func() s{
		"Of":        func() s { return stream.Of(1, 2, 3) },
		"FromSlice": func() s { return stream.FromSlice([]int{1, 2, 3}) },
		"FromSeq":   func() s { return stream.FromSeq(slices.Values([]int{1, 2, 3})) },
		"FromSeq2": func() s {
			return stream.FromSeq2(func(context.Context) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					_ = yield(1, nil) && yield(2, nil) && yield(3, nil)
				}
			})
		},
		"FromFunc": func() s {
			n := 0
			return stream.FromFunc(func(context.Context) (int, error) { n++; return n, nil }).Repeat(3)
		},
		"FromChan": func() s {
			c := make(chan int, 3)
			c <- 1
			c <- 2
			c <- 3
			close(c)
			return stream.FromChan(c)
		},
		"FromChans": func() s {
			return stream.FromChans(func(ctx context.Context) (<-chan int, <-chan error) {
				return stream.Of(1, 2, 3).Chans(ctx, 0)
			})
		},
		"Defer": func() s { return stream.Defer(func(context.Context) s { return stream.Of(1, 2, 3) }) },
		"Range": func() s { return stream.Range(1, 3) },
	}
}

// The run has not ended when the consumer has the last value in hand. The context of an attempt has another way to end.
func TestSource_CancelledInAValue(t *testing.T) {
	for _, last := range []int{2, 3} {
		for _, retried := range []bool{false, true} {
			for name, newStream := range sources() {
				bubble(t, name, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					n := 0
					s := newStream().Tap(func(v int) {
						if n++; v == last {
							cancel(errCause)
						}
					})
					if retried {
						s = s.Retry(1)
					}
					err := s.ForEach(ctx, func(int) {})
					if !endedBy(ctx, err) || n != last {
						t.Errorf("cancelled in value %d, retried %t: %d values, %v", last, retried, n, err)
					}
				})
			}
		}
	}
}

// marks yields 1 for each value of s.
func marks[T any](s stream.Stream[T]) stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		return s(ctx, func(T) bool { return yield(1) })
	}
}

func TestFromSlice_SeesTheSliceAsItIs(t *testing.T) {
	v := []int{1, 2}
	s := stream.FromSlice(v)
	v[0] = 7
	expect(t, s, []int{7, 2}, nil)
}

func TestFromSeq2_AnErrorEndsIt(t *testing.T) {
	stopped := false
	s := stream.FromSeq2(func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			yield(1, nil)
			stopped = !yield(2, errBoom)
			yield(3, nil)
			yield(4, errCause)
		}
	})
	expect(t, s, []int{1}, errBoom)
	if !stopped {
		t.Error("the sequence was not stopped")
	}
}

func TestFromSeq2_NilSequence(t *testing.T) {
	_, err := stream.FromSeq2(func(context.Context) iter.Seq2[int, error] { return nil }).Collect(t.Context())
	if err == nil || err.Error() != "stream: FromSeq2: open returned a nil sequence" {
		t.Error(err)
	}
}

func TestFromSeq2_ItsOwnErrorAndTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := stream.FromSeq2(func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			cancel(errCause)
			yield(0, errBoom)
		}
	}).Collect(ctx)
	if !endedBy(ctx, err) || !errors.Is(err, errBoom) {
		t.Errorf("%v: want both the cause and boom", err)
	}
}

func TestFromFunc_CancelledMeanwhile(t *testing.T) {
	for name, failed := range map[string]error{"well": nil, "with the context's error": context.Canceled, "with its own": errBoom} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			got, err := stream.FromFunc(func(context.Context) (int, error) {
				cancel(errCause)
				return 1, failed
			}).Collect(ctx)
			if got != nil || !endedBy(ctx, err) || failed != nil && !errors.Is(err, failed) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestFromChan_RunsOnce(t *testing.T) {
	c := make(chan int, 1)
	c <- 1
	s := stream.FromChan(c)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Collect(ended); err != context.Canceled {
		t.Errorf("a run under a context that has ended gives %v", err)
	}
	expect(t, s.Take(1), []int{1}, nil)
	expect(t, s, nil, stream.ErrNotRestartable)
	if _, err := s.Retry(5).Collect(t.Context()); err != stream.ErrNotRestartable {
		t.Errorf("retried: %v", err)
	}
}

func TestFromChan_LeavesTheRestInTheChannel(t *testing.T) {
	c := make(chan int, 3)
	c <- 1
	c <- 2
	c <- 3
	expect(t, stream.FromChan(c).Take(1), []int{1}, nil)
	if len(c) != 2 {
		t.Errorf("%d values are left, want 2", len(c))
	}
}

func TestDefer_NilStream(t *testing.T) {
	_, err := stream.Defer(func(context.Context) stream.Stream[int] { return nil }).Collect(t.Context())
	if err == nil || err.Error() != "stream: Defer: f returned a nil stream" {
		t.Error(err)
	}
}

func TestRange_UpToTheLargestInt(t *testing.T) {
	const max = int(^uint(0) >> 1)
	expect(t, stream.Range(max-1, 2), []int{max - 1, max}, nil)
	expect(t, stream.Range(max, 0), nil, nil)
	expect(t, stream.Range(-max-1, 2), []int{-max - 1, -max}, nil)
	expect(t, stream.Range(-1, max).Take(3), []int{-1, 0, 1}, nil)
}

// A cancel in the one value of a source is no good end, and a stop there is one.
func TestSource_CancelledInItsOnlyValue(t *testing.T) {
	for name, s := range map[string]stream.Stream[any]{
		"FromFunc": stream.FromFunc(func(context.Context) (any, error) { return 1, nil }),
		"Timer": func(ctx context.Context, yield func(any) bool) error {
			return stream.Timer(ms)(ctx, func(v time.Time) bool { return yield(v) })
		},
	} {
		bubble(t, name, func(t *testing.T) {
			for _, more := range []bool{true, false} {
				ctx, cancel := context.WithCancelCause(t.Context())
				err := s(ctx, func(any) bool { cancel(errCause); return more })
				if more && !endedBy(ctx, err) || !more && err != nil {
					t.Errorf("asked for more: %v; got %v", more, err)
				}
			}
		})
	}
}

func TestSources_CallNothingUnderAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	called := false
	for name, s := range map[string]stream.Stream[int]{
		"Defer":    stream.Defer(func(context.Context) stream.Stream[int] { called = true; return stream.Of(1) }),
		"FromFunc": stream.FromFunc(func(context.Context) (int, error) { called = true; return 1, nil }),
		"FromSeq2": stream.FromSeq2(func(context.Context) iter.Seq2[int, error] {
			called = true
			return func(func(int, error) bool) {}
		}),
		"FromChans":     stream.FromChans(func(context.Context) (<-chan int, <-chan error) { called = true; return nil, nil }),
		"FromSeq":       stream.FromSeq(func(func(int) bool) { called = true }),
		"FromCallbacks": stream.FromCallbacks(func(context.Context, func(int) bool) error { called = true; return nil }),
		"Using": stream.Using(func(context.Context) (int, error) { called = true; return 1, nil },
			func(v int) stream.Stream[int] { return stream.Of(v) }, func(int) error { return nil }),
	} {
		called = false
		got, err := s.Collect(ctx)
		if called || len(got) != 0 || !endedBy(ctx, err) {
			t.Errorf("%s: called is %v, got %v, %v", name, called, got, err)
		}
	}
}

// What a source calls gets the run's context.
func TestSources_PassTheRunsContext(t *testing.T) {
	ctx := t.Context()
	expectRuns := func(name string, got context.Context) {
		if got != ctx {
			t.Errorf("%s: got %v", name, got)
		}
	}
	for _, s := range []stream.Stream[int]{
		stream.Defer(func(got context.Context) stream.Stream[int] { expectRuns("Defer", got); return stream.Of(1) }),
		stream.FromFunc(func(got context.Context) (int, error) { expectRuns("FromFunc", got); return 1, nil }),
		stream.Using(func(got context.Context) (int, error) { expectRuns("Using", got); return 1, nil },
			func(v int) stream.Stream[int] { return stream.Of(v) }, func(int) error { return nil }),
	} {
		if got, err := s.Collect(ctx); err != nil || !slices.Equal(got, []int{1}) {
			t.Errorf("got %v, %v", got, err)
		}
	}
}
