package rx_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/stream"
)

// sources are ways to make an observable of the numbers from 1 to n.
var sources = map[string]func(ctx context.Context, n int) rxgo.Observable{
	"Create": func(ctx context.Context, n int) rxgo.Observable {
		return rxgo.Create(counting(n), rxgo.WithContext(ctx))
	},
	"Defer": func(_ context.Context, n int) rxgo.Observable { return rxgo.Defer(counting(n)) },
	"FromChannel": func(ctx context.Context, n int) rxgo.Observable {
		return rxgo.FromChannel(rxgo.Defer(counting(n)).Observe(rxgo.WithContext(ctx)), rxgo.WithContext(ctx))
	},
	"Map": func(_ context.Context, n int) rxgo.Observable {
		return rxgo.Defer(counting(n)).Map(func(_ context.Context, v any) (any, error) { return v, nil })
	},
	"FlatMap": func(ctx context.Context, n int) rxgo.Observable {
		return rxgo.Defer(counting(n)).FlatMap(func(i rxgo.Item) rxgo.Observable { return rxgo.Just(i.V)() }, rxgo.WithContext(ctx))
	},
	"Merge": func(ctx context.Context, n int) rxgo.Observable {
		return rxgo.Merge([]rxgo.Observable{rxgo.Empty(), rxgo.Defer(counting(n))}, rxgo.WithContext(ctx))
	},
	"FromStream": func(_ context.Context, n int) rxgo.Observable { return rx.FromStream(stream.Range(1, n)) },
	"RetryWhen": func(_ context.Context, n int) rxgo.Observable {
		return rx.RetryWhen(func(context.Context) rxgo.Observable { return rxgo.Defer(counting(n)) }, atOnce(0))
	},
	"Wrap": func(_ context.Context, n int) rxgo.Observable {
		return rx.Wrap(rxgo.Defer(counting(n))).RetryWhen(atOnce(0))
	},
}

func counting(n int) []rxgo.Producer {
	return []rxgo.Producer{func(ctx context.Context, next chan<- rxgo.Item) {
		for i := range n {
			if !rxgo.Of(i+1).SendContext(ctx, next) {
				return
			}
		}
	}}
}

const many = 1 << 20

func TestToStream_SourceThatIgnoresItsContext(t *testing.T) {
	release := func(t *testing.T, hold chan struct{}) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		time.AfterFunc(time.Hour, func() { close(hold) })
		return ctx
	}
	for name, open := range map[string]func(hold chan struct{}) rxgo.Observable{
		"waits": func(hold chan struct{}) rxgo.Observable {
			return rxgo.Create([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
				<-hold
				next <- rxgo.Of(1)
				next <- rxgo.Of(2)
			}})
		},
		"sends": func(hold chan struct{}) rxgo.Observable {
			return rxgo.Create([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
				time.Sleep(2 * time.Second)
				for range 2000 {
					next <- rxgo.Of(1)
				}
			}})
		},
		"never":        func(chan struct{}) rxgo.Observable { return rxgo.Never() },
		"FromChannel":  func(chan struct{}) rxgo.Observable { return rxgo.FromChannel(make(chan rxgo.Item)) },
		"another type": func(chan struct{}) rxgo.Observable { return others{rxgo.Never()} },
	} {
		bubble(t, name, func(t *testing.T) {
			hold := make(chan struct{})
			ctx := release(t, hold)
			start := time.Now()
			_, err := rx.ToStream[int](func(context.Context) rxgo.Observable { return open(hold) }).Collect(ctx)
			if !errors.Is(err, errCause) || time.Since(start) != time.Second {
				t.Errorf("got %v after %v", err, time.Since(start))
			}
			<-hold
		})
	}
}

// Items of a producer that ignores its context and never stops are not received forever.
func TestToStream_SourceWithoutAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		sent := 0
		_, err := rx.ToStream[int](func(context.Context) rxgo.Observable {
			return rxgo.Create([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
				for {
					select {
					case next <- rxgo.Of(1):
						sent++
					case <-stop:
						return
					}
				}
			}})
		}).Take(3).Collect(t.Context())
		synctest.Wait() // returns when nothing receives from the producer any more
		if err != nil || sent < many || sent > many+10 {
			t.Errorf("%v, %d items sent", err, sent)
		}
		close(stop)
	})
}

func TestToStream_FromChannelIsNotReadFurther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := make(chan rxgo.Item, 5)
		for i := range 5 {
			items <- rxgo.Of(i)
		}
		s := rx.ToStream[int](func(context.Context) rxgo.Observable { return rxgo.FromChannel(items) })
		for i := range 5 {
			got, err := s.Take(1).Collect(t.Context())
			if !slices.Equal(got, []int{i}) || err != nil {
				t.Errorf("got %v, %v, want %d", got, err, i)
			}
			synctest.Wait()
		}
	})
}

// Every item that a run receives from the channel is yielded, also after the run's context has ended.
func TestToStream_FromChannelIsNotReadFurtherAfterACancel(t *testing.T) {
	for name, cancelling := range map[string]func(cancel func()){
		"in yield":  func(cancel func()) { cancel() },
		"meanwhile": func(cancel func()) { go cancel() },
	} {
		bubble(t, name, func(t *testing.T) {
			for range 50 {
				items := make(chan rxgo.Item, 50)
				for i := range cap(items) {
					items <- rxgo.Of(i)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				got := 0
				err := rx.ToStream[int](func(context.Context) rxgo.Observable { return rxgo.FromChannel(items) }).ForEach(ctx, func(v int) {
					got++
					if v == 2 {
						cancelling(func() { cancel(errCause) })
					}
				})
				synctest.Wait()
				close(items)
				if name == "in yield" && got != 3 {
					t.Fatalf("%d were yielded, want none after the cancel", got-3)
				}
				if got+len(items) != cap(items) || !errors.Is(err, errCause) && got < cap(items) {
					t.Fatalf("%d were yielded and %d are left, of %d; %v", got, len(items), cap(items), err)
				}
			}
		})
	}
}

func TestToStream_Types(t *testing.T) {
	type named struct{ N int }
	bubble(t, "wrong", func(t *testing.T) {
		got, err := rx.ToStream[int](func(context.Context) rxgo.Observable { return rxgo.Just(1, 2, "three", 4)() }).Collect(t.Context())
		if !slices.Equal(got, []int{1, 2}) || err == nil || err.Error() != "rx: ToStream: item 3 is string, want int" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	bubble(t, "wrong after a Map", func(t *testing.T) {
		_, err := rx.ToStream[*named](func(context.Context) rxgo.Observable {
			return rxgo.Just(1, 2)().Map(func(context.Context, any) (any, error) { return named{}, nil })
		}).Collect(t.Context())
		if err == nil || err.Error() != "rx: ToStream: item 1 is rx_test.named, want *rx_test.named" {
			t.Error(err)
		}
	})
	bubble(t, "no policy retries it", func(t *testing.T) {
		start := time.Now()
		_, err := rx.ToStream[string](func(context.Context) rxgo.Observable { return rxgo.Just(1)() }).RetryWhen(quadratic(3)).Collect(t.Context())
		if err == nil || err.Error() != "rx: ToStream: item 1 is int, want string" || time.Since(start) != 0 {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
	bubble(t, "interface", func(t *testing.T) {
		got, err := rx.ToStream[fmt.Stringer](func(context.Context) rxgo.Observable { return rxgo.Just(time.Second, time.Minute)() }).Collect(t.Context())
		if len(got) != 2 || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestToStream_NoObservable(t *testing.T) {
	for name, o := range map[string]rxgo.Observable{
		"nil":             nil,
		"nil pointer":     (*rxgo.ObservableImpl)(nil),
		"zero Observable": rx.Observable{},
	} {
		bubble(t, name, func(t *testing.T) {
			src := func(context.Context) rxgo.Observable { return o }
			if _, err := rx.ToStream[int](src).Collect(t.Context()); err == nil || err.Error() != "rx: ToStream: src returned a nil Observable" {
				t.Error(err)
			}
			start := time.Now()
			_, err := received(t, rx.RetryWhen(src, quadratic(3)).Observe())
			if err == nil || err.Error() != "rx: RetryWhen: src returned a nil Observable" || time.Since(start) != 0 {
				t.Errorf("got %v after %v", err, time.Since(start))
			}
		})
	}
	bubble(t, "nil channel", func(t *testing.T) {
		_, err := rx.ToStream[int](func(context.Context) rxgo.Observable { return rxgo.FromChannel(nil) }).Collect(t.Context())
		if err == nil || err.Error() != "rx: ToStream: Observe returned a nil channel" {
			t.Error(err)
		}
	})
}

type uncomparable struct{ parts []int }

func (u uncomparable) Error() string { return fmt.Sprint("uncomparable", u.parts) }

// A cancelled run ends with the cause, also if its source has an error ready.
func TestToStream_ErrorOfACancelledSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, own := range []error{errBoom, uncomparable{[]int{1}}, context.Canceled} {
			for range 20 {
				ctx, cancel := context.WithCancelCause(t.Context())
				items := make(chan rxgo.Item, 2)
				items <- rxgo.Of(1)
				items <- rxgo.Error(own)
				err := rx.ToStream[int](func(context.Context) rxgo.Observable { return rxgo.FromChannel(items) }).
					ForEach(ctx, func(int) { cancel(errCause) })
				if !errors.Is(err, errCause) {
					t.Errorf("got %v", err)
				}
			}
		}
	})
}

func TestToStream_CancelAtAnyMoment(t *testing.T) {
	for name, open := range sources {
		t.Run(name, func(t *testing.T) {
			for round := range 50 {
				ctx, cancel := context.WithCancelCause(t.Context())
				done := check.After(round*3, func() { cancel(errCause) })
				last := 0
				err := rx.ToStream[int](func(ctx context.Context) rxgo.Observable { return open(ctx, 30) }).ForEach(ctx, func(v int) {
					if v != last+1 {
						t.Errorf("%d came after %d", v, last)
					}
					last = v
				})
				if err == nil && last != 30 || err != nil && !errors.Is(err, errCause) {
					t.Errorf("%v after %d", err, last)
				}
				<-done
			}
		})
	}
}

// withNil runs a source of one nil item as a stream of T.
func withNil[T any]() error {
	n := 0
	err := rx.ToStream[T](func(context.Context) rxgo.Observable {
		return rxgo.Just(1)().Map(func(context.Context, any) (any, error) { return nil, nil })
	}).ForEach(context.Background(), func(T) { n++ })
	if err == nil && n != 1 {
		return errors.New("the item is lost")
	}
	return err
}

func TestToStream_NilItems(t *testing.T) {
	for name, run := range map[string]func() error{
		"any": withNil[any], "error": withNil[error], "*int": withNil[*int], "[]int": withNil[[]int],
		"map": withNil[map[string]int], "func": withNil[func()], "chan": withNil[chan int], "unsafe.Pointer": withNil[unsafe.Pointer],
	} {
		if err := run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, run := range map[string]func() error{"int": withNil[int], "struct {}": withNil[struct{}], "[1]int": withNil[[1]int]} {
		if err, want := run(), "rx: ToStream: item 1 is <nil>, want "+name; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
