package handoff_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/retrywhen/retrywhen/internal/handoff"
)

// buffered runs src ahead of a consumer by n values.
func buffered(ctx context.Context, n int, src source, consume func(int)) error {
	return inScope(ctx, func(scope *handoff.Scope) error {
		in := handoff.NewBuffer(scope, n, src)
		for {
			v, ok, err := in.Next()
			if !ok {
				return err
			}
			consume(v)
		}
	})
}

// upTo yields the numbers from 1 to n, then ends with err.
func upTo(n int, err error) source {
	return func(_ context.Context, yield func(int) bool) error {
		for v := range n {
			if !yield(v + 1) {
				return nil
			}
		}
		return err
	}
}

func TestBuffer(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		bubble(t, fmt.Sprintf("%d values ahead", n), func(t *testing.T) {
			made, got := 0, 0
			src := func(_ context.Context, yield func(int) bool) error {
				for made = 1; yield(made); made++ {
				}
				return nil
			}
			_ = inScope(t.Context(), func(scope *handoff.Scope) error {
				in := handoff.NewBuffer(scope, n, src)
				for range 10 {
					v, ok, err := in.Next()
					if got++; v != got || !ok || err != nil {
						t.Errorf("Next: %d, %v, %v, want %d", v, ok, err, got)
					}
					if synctest.Wait(); made != v+n {
						t.Errorf("with %d in hand %d values were made, want %d", v, made, v+n)
					}
				}
				return nil
			})
		})
	}
	bubble(t, "the end comes after the values", func(t *testing.T) {
		for made := range 8 {
			var got []int
			err := buffered(t.Context(), 3, upTo(made, errBoom), func(v int) {
				synctest.Wait()
				got = append(got, v)
			})
			want, _ := drain(upTo(made, nil))
			if err != errBoom || !slices.Equal(got, want) {
				t.Errorf("got %v, %v, want %v, boom", got, err, want)
			}
		}
	})
}

func drain(src source) (all []int, err error) {
	err = src(context.Background(), func(v int) bool { all = append(all, v); return true })
	return all, err
}

// The end of the context ends the consumer's wait for a value and the source's wait for room. Held values are dropped.
func TestBuffer_TheContextEnds(t *testing.T) {
	bubble(t, "while it is full", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		got, start := 0, time.Now()
		var freed time.Duration
		var answers []bool
		err := buffered(ctx, 2, func(_ context.Context, yield func(int) bool) error {
			for v := range 5 {
				answers = append(answers, yield(v))
			}
			freed = time.Since(start)
			return nil
		}, func(int) {
			got++
			time.Sleep(time.Minute)
		})
		if want := []bool{true, true, false, false, false}; !endedBy(err) || got != 1 || freed != time.Second || !slices.Equal(answers, want) {
			t.Errorf("%d values, %v; the source was freed after %v, with %v", got, err, freed, answers)
		}
	})
}

// The end of the context ends Next, though the source continues.
func TestBuffer_TheContextEndsBeforeItsSource(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		start := time.Now()
		_ = inScope(ctx, func(scope *handoff.Scope) error {
			in := handoff.NewBuffer(scope, 2, func(_ context.Context, yield func(int) bool) error {
				time.Sleep(time.Minute)
				yield(1)
				return nil
			})
			v, ok, err := in.Next()
			if ok || !endedBy(err) || time.Since(start) != time.Second {
				t.Errorf("%d, %v, %v after %v, want the cause after 1s", v, ok, err, time.Since(start))
			}
			return nil
		})
	})
}

func endedBy(err error) bool { return errors.Is(err, errCause) && errors.Is(err, context.Canceled) }

// At full speed, on any number of processors, no value is lost, doubled or out of order, and no side waits forever.
func TestBuffer_AtFullSpeed(t *testing.T) {
	for _, n := range []int{1, 2, 3, 16, 1000} {
		for pace := range 4 {
			const total = 5000
			got := 0
			src := func(ctx context.Context, yield func(int) bool) error {
				return upTo(total, errBoom)(ctx, func(v int) bool {
					if pace&1 > 0 && v%7 == 0 {
						runtime.Gosched()
					}
					return yield(v)
				})
			}
			err := buffered(t.Context(), n, src, func(v int) {
				if got++; v != got {
					t.Fatalf("got %d, want %d", v, got)
				}
				if pace&2 > 0 && v%5 == 0 {
					runtime.Gosched()
				}
			})
			if err != errBoom || got != total {
				t.Errorf("%d values, %v", got, err)
			}
		}
	}
}

// The ring keeps no reference to a value that was taken.
func TestBuffer_KeepsNothingThatWasTaken(t *testing.T) {
	err := inScope(t.Context(), func(scope *handoff.Scope) error {
		in := handoff.NewBuffer(scope, 8, func(ctx context.Context, yield func(*[64]int) bool) error {
			yield(new([64]int))
			<-ctx.Done()
			return nil
		})
		v, ok, err := in.Next()
		taken := weak.Make(v)
		runtime.GC()
		if taken.Value() != nil {
			t.Errorf("%v, %v: it is kept", ok, err)
		}
		runtime.KeepAlive(in)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func newInner(t *testing.T) *handoff.Inner { return handoff.NewInner(context.WithCancel(t.Context())) }

// expect checks whether the context has ended, without a call of its own methods.
func expectInner(t *testing.T, c *handoff.Inner, ended bool) {
	t.Helper()
	if (c.Context.Err() != nil) != ended {
		t.Errorf("the context: %v, want it ended: %v", c.Context.Err(), ended)
	}
}

func TestCancelInner_BeforeTheStreamBegins(t *testing.T) {
	for name, begin := range map[string]func(*handoff.Inner){
		"it yields or returns": func(c *handoff.Inner) { c.Begin() },
		"it waits":             func(c *handoff.Inner) { <-c.Done() },
		"a child waits": func(c *handoff.Inner) {
			child, cancel := context.WithCancel(c)
			defer cancel()
			<-child.Done()
			if child.Err() == nil {
				t.Error("the child has no error")
			}
		},
		"it calls Err again and again": func(c *handoff.Inner) {
			for i := range 4 {
				if c.Err() != nil {
					t.Errorf("call %d of Err: %v", i+1, c.Err())
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newInner(t)
			handoff.CancelInner(c)
			expectInner(t, c, false)
			begin(c)
			expectInner(t, c, true)
			if !errors.Is(c.Err(), context.Canceled) {
				t.Error(c.Err())
			}
			c.End()
		})
	}
}

// A stream that has called Done waits, or yields soon. While it does neither, the cancel comes.
func TestCancelInner_AfterDone(t *testing.T) {
	waiting, begun, fresh := newInner(t), newInner(t), newInner(t)
	done := waiting.Done()
	begun.Begin()
	handoff.CancelInner(waiting, begun, fresh)
	<-done
	expectInner(t, waiting, true)
	expectInner(t, begun, true)
	expectInner(t, fresh, false)
	fresh.End()
	expectInner(t, fresh, true)
}

// Reset makes the context one of a stream that has not begun, and keeps a cancel.
func TestInner_Reset(t *testing.T) {
	c := newInner(t)
	_, _ = c.Done(), c.Err()
	c.Begin()
	c.Reset()
	handoff.CancelInner(c)
	expectInner(t, c, false)
	c.Reset()
	c.Begin()
	expectInner(t, c, true)
}

// A context may be printed while another goroutine uses it.
func TestInner_String(t *testing.T) {
	c := newInner(t)
	printed := make(chan string)
	go func() { printed <- fmt.Sprint(c) }()
	c.Begin()
	if got, want := <-printed, fmt.Sprint(c.Context, ".Inner"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.End()
}
