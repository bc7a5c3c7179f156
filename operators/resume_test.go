package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

var again = constant(0) // without a wait and without a limit

// numbers is a log of the numbers 1 to n. A run of it begins behind at and fails after cut values, or ends at n; with
// apart it waits a second before each value and before its end.
func numbers(n, cut int, apart bool) func(at int) ints {
	return func(at int) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			for v := at + 1; ; v++ {
				if apart {
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
					}
				}
				switch {
				case ctx.Err() != nil:
					return context.Cause(ctx)
				case v > n:
					return nil
				case v > at+cut:
					return errBoom
				}
				if !yield(v) {
					return nil
				}
			}
		}
	}
}

func latest(_, v int) int { return v }

func upTo(n int) (all []int) {
	for v := range n {
		all = append(all, v+1)
	}
	return all
}

// The order of things: open, a value, its position, and open with the position.
func TestResume_Order(t *testing.T) {
	var story []string
	note := func(format string, args ...any) { story = append(story, fmt.Sprintf(format, args...)) }
	s := operators.Resume(0, func(at int) ints {
		note("open(%d)", at)
		return numbers(3, 2, false)(at)
	}, func(at, v int) int {
		note("after(%d, %d)", at, v)
		return v
	}, again)
	if len(story) > 0 {
		t.Error("open was called before the stream was run")
	}
	err := s.ForEach(t.Context(), func(v int) { note("%d", v) })
	const want = "open(0) 1 after(0, 1) 2 after(1, 2) open(2) 3 after(2, 3)"
	if got := strings.Join(story, " "); got != want || err != nil {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

// A value at which the consumer stops or panics does not move the position: after is not called for it.
func TestResume_ConsumerThatDoesNotTakeAValue(t *testing.T) {
	for how := range refusals {
		var moved []int
		expectRefusal(t, operators.Resume(0, numbers(9, 9, false), func(_, v int) int { moved = append(moved, v); return v }, again), how)
		if want := []int{1, 2}; !slices.Equal(moved, want) {
			t.Errorf("%s at 3: after was called for %v", how, moved)
		}
	}
}

// refusals are the ways in which a consumer does not take a value.
var refusals = map[string]func() bool{
	"stops":  func() bool { return false },
	"panics": func() bool { panic(errBoom) },
	"exits":  func() bool { runtime.Goexit(); return true },
}

// expectRefusal runs s with a consumer that refuses 3, and checks that it ends as the consumer does.
func expectRefusal(t *testing.T, s ints, how string) {
	t.Helper()
	var err error
	var thrown any
	exited := exits(func() {
		thrown = recovered(func() { err = s(t.Context(), func(v int) bool { return v < 3 || refusals[how]() }) })
	})
	if err != nil || (thrown == errBoom) != (how == "panics") || exited != (how == "exits") {
		t.Errorf("%s: returned %v, panicked with %v, exited: %v", how, err, thrown, exited)
	}
}

// Once the context has ended nothing is opened, whether it ended in a yield, between a value and its position, or in
// a wait.
func TestResume_Cancel(t *testing.T) {
	for _, place := range []string{"yield", "after", "open", "wait"} {
		bubble(t, place, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			opened := 0
			at := func(where string, v int) {
				if where == place && v == 3 {
					cancel(errCause)
				}
			}
			if place == "wait" {
				time.AfterFunc(time.Minute, func() { cancel(errCause) })
			}
			err := operators.Resume(0, func(p int) ints {
				opened++
				at("open", p)
				return numbers(9, 3, false)(p)
			}, func(_, v int) int {
				at("after", v)
				return v
			}, constant(time.Hour))(ctx, func(v int) bool {
				at("yield", v)
				if v > 3 {
					t.Errorf("%d came", v)
				}
				return true
			})
			if place == "open" { // the hour's wait is over first
				if opened != 2 {
					t.Errorf("opened %d times", opened)
				}
			} else if opened != 1 {
				t.Errorf("opened %d times", opened)
			}
			if !errors.Is(err, errCause) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestResume_OpenReturnsNil(t *testing.T) {
	for _, failures := range []int{0, 2} {
		opened := 0
		s := operators.Resume(0, func(int) ints {
			if opened++; opened <= failures {
				return stream.Fail[int](errBoom)
			}
			return nil
		}, latest, again)
		_, err := s.RetryWhen(again).Collect(t.Context()) // the outer one does not retry it either
		if err == nil || err.Error() != "operators: Resume: open returned a nil stream" || opened != failures+1 {
			t.Errorf("after %d failures: %v, opened %d times", failures, err, opened)
		}
	}
}

// A million attempts, nightly, that fail, the position standing still, then moving: the stack and the heap stay as they
// are.
func TestResume_AMillionFailures(t *testing.T) {
	n := soakLength()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	deepest, opened := 0, 0
	stack := make([]uintptr, 256)
	s := operators.Resume(0, func(at int) ints {
		if opened++; opened%10_000 == 0 {
			deepest = max(deepest, runtime.Callers(0, stack))
		}
		switch {
		case opened > n:
			return stream.Empty[int]()
		case opened%2 == 0:
			return stream.Fail[int](errBoom)
		}
		return numbers(n, 1, false)(at)
	}, latest, again)
	sum := 0
	if err := s.ForEach(t.Context(), func(int) { sum++ }); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if sum != n/2 || opened != n+1 {
		t.Errorf("%d values of %d attempts", sum, opened)
	}
	if deepest > 30 {
		t.Errorf("the stack is %d frames deep", deepest)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// A stage inside that always fails at one value brings it back with every attempt, until the policy gives up. It does
// not when the stage is behind Resume, when its error is permanent, or when the value is put aside.
func TestResume_PoisonMessage(t *testing.T) {
	errPoison := errors.New("4 cannot be parsed")
	parsed := 0
	parse := func(mark func(error) error) func(ints) ints {
		return func(s ints) ints {
			return operators.ConcatMap(s, func(v int) ints {
				parsed++
				if v == 4 {
					return stream.Fail[int](mark(errPoison))
				}
				return stream.Of(v)
			})
		}
	}
	plain := parse(func(err error) error { return err })
	inside := func(stage func(ints) ints) ints {
		return operators.Resume(0, func(at int) ints { return stage(numbers(6, 6, false)(at)) }, latest, again.With(retry.Limit(5), retry.ResetAfterItems(1)))
	}
	for _, c := range []struct {
		name   string
		s      ints
		want   []int
		err    error
		parsed int
	}{
		{"inside", inside(plain), upTo(3), errPoison, 4 + 5},
		{"permanent", inside(parse(stream.Permanent)), upTo(3), errPoison, 4},
		{"behind", plain(operators.Resume(0, numbers(6, 6, false), latest, again)), upTo(3), errPoison, 4},
		{"put aside", inside(func(s ints) ints {
			return operators.ConcatMap(s, func(v int) ints {
				return plain(stream.Of(v)).Catch(func(error) ints { return stream.Of(-v) })
			})
		}), []int{1, 2, 3, -4}, nil, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			parsed = 0
			want := c.want
			if c.err == nil {
				want = append(want, 5, 6)
			}
			expectValues(t, c.s, want, c.err)
			if parsed != c.parsed {
				t.Errorf("parsed %d values, want %d", parsed, c.parsed)
			}
		})
	}
}

// Behind Resume an operator that keeps values has taken them: the position is ahead of the effects by as many.
func TestResume_ThePositionIsAheadOfWhatKeepsValues(t *testing.T) {
	for _, c := range []struct {
		name  string
		apply func(ints) ints
		ahead int
	}{
		{"nothing", func(s ints) ints { return s }, 0},
		{"Tap", func(s ints) ints { return s.Tap(func(int) {}) }, 0},
		{"Buffer(5)", func(s ints) ints { return s.Buffer(5) }, 5},
		{"Batch(4)", func(s ints) ints { return flat(operators.Batch(s, 4, 0)) }, 3},
		{"Window(4)", func(s ints) ints {
			return operators.Window(s, 4, 0, func(window ints) ints { return flat(operators.Batch(window, 4, 0)) })
		}, 3},
		{"Chans(2)", func(s ints) ints {
			return stream.FromChans(func(ctx context.Context) (<-chan int, <-chan error) { return s.Chans(ctx, 2) })
		}, 2},
		{"MapRetry(3)", func(s ints) ints {
			return operators.MapRetry(s, again, func(_ context.Context, v int) (int, error) { return v, nil },
				operators.MapRetryOptions[int]{Workers: 3, Ordered: true})
		}, 3},
	} {
		bubble(t, c.name, func(t *testing.T) {
			var mu sync.Mutex
			position := 0
			s := c.apply(operators.Resume(0, numbers(40, 40, false), func(_, v int) int {
				mu.Lock()
				defer mu.Unlock()
				position = v
				return v
			}, again))
			ahead := math.MinInt
			err := s.ForEach(t.Context(), func(v int) {
				time.Sleep(time.Second) // all that can run ahead has
				mu.Lock()
				defer mu.Unlock()
				ahead = max(ahead, position-v+1) // v itself is not taken yet
			})
			if err != nil || ahead < c.ahead || c.ahead == 0 && ahead != 0 {
				t.Errorf("the position was ahead by %d, want %d or more, %v", ahead, c.ahead, err)
			}
		})
	}
}

// A heartbeat is no progress: filtered inside open it does not restart the count of retries, after Resume it does.
func TestResume_HeartbeatsAndResetAfterItems(t *testing.T) {
	const heartbeat = -1
	isEvent := func(v int) bool { return v != heartbeat }
	sick := func(at int) ints { // it connects, says hello, and fails
		return stream.Of(heartbeat).Concat(stream.Fail[int](errBoom))
	}
	policy := func(retries *int) retry.Policy {
		return again.With(retry.Limit(4), retry.ResetAfterItems(1), retry.If(func(error) bool { *retries++; return *retries < 1000 }))
	}
	stay := func(at, v int) int {
		if v == heartbeat {
			return at
		}
		return v
	}
	inside, behind := 0, 0
	_, err := operators.Resume(0, func(at int) ints { return sick(at).Filter(isEvent) }, stay, policy(&inside)).Collect(t.Context())
	if !errors.Is(err, retry.ErrExhausted) || inside != 5 {
		t.Errorf("filtered inside: %v after %d failures", err, inside)
	}
	_, err = operators.Resume(0, sick, stay, policy(&behind)).Filter(isEvent).Collect(t.Context())
	if errors.Is(err, retry.ErrExhausted) || behind != 1000 {
		t.Errorf("filtered behind: %v after %d failures", err, behind)
	}
}

// Resume keeps the contract of stream.Stream; each run of one and the same stream begins at start.
func TestResume_Check(t *testing.T) {
	everySecond := constant(time.Second)
	for name, open := range map[string]func(at int) ints{
		"at once": numbers(150, 9, false),
		"slow":    numbers(20, 3, true),
		"empty":   func(int) ints { return stream.Empty[int]() },
		"never":   func(int) ints { return stream.Never[int]() },
		"failing": func(int) ints { return stream.Fail[int](errBoom) },
		"never ending": func(at int) ints {
			return numbers(at+2, 2, true)(at).Concat(stream.Never[int]().Timeout(3 * time.Second))
		},
		"permanent": func(at int) ints { return numbers(9, 3, true)(at).Concat(stream.Fail[int](stream.Permanent(errBoom))) },
		"nil":       func(int) ints { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			one := operators.Resume(0, open, latest, everySecond)
			streamtest.Check(t, func() ints { return one })
		})
	}
}

// handling is a feed, with a stage inside its open or nil, and what is done with its values.
type handling struct {
	feed   func(stage func(ints) ints) ints
	handle func(context.Context, int) error
	bury   func(int)
}

// Where a handler that fails can be put, and what follows, as the table in docs/recipes.md says. The feed has the
// values 1 to 4, and is cut after 2. Handling 3 fails twice, or always.
func TestResume_AHandlerThatFails(t *testing.T) {
	policy := constant(time.Second, retry.Limit(3), retry.ResetAfterItems(1))
	for _, c := range []struct {
		name   string
		always bool
		run    func(ctx context.Context, to handling) error
		want   string
	}{
		{"retry.Run in TryForEach", false, func(ctx context.Context, to handling) error {
			return to.feed(nil).TryForEach(ctx, func(ctx context.Context, v int) error {
				return retry.Run(ctx, policy, func(ctx context.Context) error { return to.handle(ctx, v) })
			})
		}, "open(0) 1 2 open(2) 3# 3# 3 4"},
		{"retry.Run in TryForEach, which gives up and buries", true, func(ctx context.Context, to handling) error {
			return to.feed(nil).TryForEach(ctx, func(ctx context.Context, v int) error {
				err := retry.Run(ctx, policy, func(ctx context.Context) error { return to.handle(ctx, v) })
				if err != nil && ctx.Err() == nil {
					to.bury(v)
					return nil
				}
				return err
			})
		}, "open(0) 1 2 open(2) 3# 3# 3# 3# buried:3 4"},
		{"retry.Do in TryMap after Resume", false, func(ctx context.Context, to handling) error {
			return operators.TryMap(to.feed(nil), func(ctx context.Context, v int) (int, error) {
				return v, retry.Run(ctx, policy, func(ctx context.Context) error { return to.handle(ctx, v) })
			}).ForEach(ctx, func(int) {})
		}, "open(0) 1 2 open(2) 3# 3# 3 4"},
		{"TryForEach without a retry", false, func(ctx context.Context, to handling) error {
			return to.feed(nil).TryForEach(ctx, to.handle)
		}, "open(0) 1 2 open(2) 3# → boom"},
		{"TryMap inside open", false, func(ctx context.Context, to handling) error {
			return to.feed(func(s ints) ints {
				return operators.TryMap(s, func(ctx context.Context, v int) (int, error) { return v, to.handle(ctx, v) })
			}).ForEach(ctx, func(int) {})
		}, "open(0) 1 2 open(2) 3# open(2) 3# open(2) 3 4"},
		{"TryMap and RetryWhen after Resume", false, func(ctx context.Context, to handling) error {
			return operators.TryMap(to.feed(nil), func(ctx context.Context, v int) (int, error) { return v, to.handle(ctx, v) }).
				RetryWhen(policy).ForEach(ctx, func(int) {})
		}, "open(0) 1 2 open(2) 3# open(0) 1 2 3# open(0) 1 2 3 4"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			var story []string
			note := func(format string, args ...any) { story = append(story, fmt.Sprintf(format, args...)) }
			cuts, failures := 0, 0
			feed := func(stage func(ints) ints) ints {
				return operators.Resume(0, func(at int) ints {
					note("open(%d)", at)
					s := numbers(4, 4, false)(at)
					if cuts++; cuts == 1 {
						s = numbers(4, 2, false)(at)
					}
					if stage != nil {
						s = stage(s)
					}
					return s
				}, latest, policy)
			}
			handle := func(_ context.Context, v int) error {
				if v == 3 && (c.always || failures < 2) {
					failures++
					note("3#")
					return errBoom
				}
				note("%d", v)
				return nil
			}
			if err := c.run(t.Context(), handling{feed, handle, func(v int) { note("buried:%d", v) }}); err != nil {
				if !errors.Is(err, errBoom) {
					t.Error(err)
				}
				note("→ %v", errBoom)
			}
			if got := strings.Join(story, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
