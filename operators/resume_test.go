package operators_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// Each run begins at start, also while another one is under way.
func TestResume_ThePositionBelongsToTheSubscription(t *testing.T) {
	s := operators.Resume(10, numbers(25, 4, false), latest, again)
	want := upTo(25)[10:]
	for range 2 {
		expectValues(t, s, want, nil)
	}
	var inner []int
	outer, err := s.Tap(func(v int) {
		if v == 15 {
			inner, _ = s.Collect(t.Context())
		}
	}).Collect(t.Context())
	if err != nil || !slices.Equal(outer, want) || !slices.Equal(inner, want) {
		t.Errorf("got %v and %v, %v", outer, inner, err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { expectValues(t, s, want, nil) })
	}
	all.Wait()
}

// A value at which the consumer stops or panics does not move the position: after is not called for it.
func TestResume_ConsumerThatDoesNotTakeAValue(t *testing.T) {
	var moved []int
	s := operators.Resume(0, numbers(9, 9, false), func(_, v int) int { moved = append(moved, v); return v }, again)
	err := s(t.Context(), func(v int) bool { return v < 3 })
	if want := []int{1, 2}; err != nil || !slices.Equal(moved, want) {
		t.Errorf("stopped at 3: %v, after was called for %v", err, moved)
	}
	moved = nil
	func() {
		defer func() {
			if r := recover(); r != errBoom {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = s(t.Context(), func(v int) bool {
			if v == 3 {
				panic(errBoom)
			}
			return true
		})
	}()
	if want := []int{1, 2}; !slices.Equal(moved, want) {
		t.Errorf("panicked at 3: after was called for %v", moved)
	}
	moved = nil
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = s(t.Context(), func(v int) bool {
			if v == 3 {
				runtime.Goexit()
			}
			return true
		})
	}()
	<-over
	if want := []int{1, 2}; !slices.Equal(moved, want) {
		t.Errorf("exited at 3: after was called for %v", moved)
	}
}

// A value that a Timeout inside has dropped, for it came too late, comes with the next attempt.
func TestResume_AValueDroppedInside(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var opened []int
		late := 2
		s := operators.Resume(0, func(at int) ints {
			opened = append(opened, at)
			return numbers(6, 6, false)(at).Tap(func(v int) {
				if v == 4 && late > 0 {
					late--
					time.Sleep(time.Minute)
				}
			}).Timeout(time.Second)
		}, latest, again)
		expectValues(t, s, upTo(6), nil)
		if want := []int{0, 3, 3}; !slices.Equal(opened, want) {
			t.Errorf("opened at %v, want %v", opened, want)
		}
	})
}

// The consumer's time is its own: nothing runs ahead of it, and the position waits for it.
func TestResume_SlowConsumer(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		inside := false
		open := numbers(6, 2, true)
		s := operators.Resume(0, func(at int) ints {
			return open(at).Tap(func(int) {
				if inside {
					t.Error("a value was made while the consumer worked")
				}
			})
		}, func(_, v int) int {
			if inside {
				t.Error("the position has moved while the consumer worked")
			}
			return v
		}, again)
		err := s.ForEach(t.Context(), func(int) {
			inside = true
			time.Sleep(time.Hour)
			inside = false
		})
		if err != nil {
			t.Error(err)
		}
	})
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

func TestResume_OpenPanics(t *testing.T) {
	for _, at := range []int{0, 2} {
		func() {
			defer func() {
				if r := recover(); r != errBoom {
					t.Errorf("at %d: recovered %v", at, r)
				}
			}()
			_, err := operators.Resume(0, func(p int) ints {
				if p == at {
					panic(errBoom)
				}
				return numbers(9, 2, false)(p)
			}, latest, again).Collect(t.Context())
			t.Errorf("at %d: it returned %v", at, err)
		}()
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

// A source that begins with the value at the position, not behind it: it comes twice, unless open drops it.
func TestResume_ASourceThatRepeatsItsLastValue(t *testing.T) {
	inclusive := func(at int) ints { return numbers(5, 3, false)(max(at-1, 0)) }
	expectValues(t, operators.Resume(0, inclusive, latest, again), []int{1, 2, 3, 3, 4, 5}, nil)
	expectValues(t, operators.Resume(0, func(at int) ints {
		return inclusive(at).Filter(func(v int) bool { return v > at })
	}, latest, again), upTo(5), nil)
}

// What comes twice, as the comment says: a Merge inside moves the position backwards, a retry inside begins at open's
// position, one behind at start.
func TestResume_WhatComesTwice(t *testing.T) {
	failures := 0
	merged := func(at int) ints {
		if failures++; failures > 1 {
			return numbers(4, 4, false)(at)
		}
		return stream.Of(1, 3, 2).Concat(stream.Fail[int](errBoom)) // as a Merge of 1, 2 and 3 may come
	}
	expectValues(t, operators.Resume(0, merged, latest, again), []int{1, 3, 2, 3, 4}, nil)
	inside := func(at int) ints { return numbers(5, 2, false)(at).Retry(1) }
	expectValues(t, operators.Resume(0, inside, latest, again), []int{1, 2, 1, 2, 3, 4, 3, 4, 5}, nil)
	behind := operators.Resume(0, numbers(5, 2, false), latest, again.With(retry.Limit(1))).Retry(1)
	expectValues(t, behind, []int{1, 2, 3, 4, 1, 2, 3, 4}, errBoom)
}

// An end is the end, also after failures; a feed that must not end says so inside.
func TestResume_GoodEnd(t *testing.T) {
	feed := func(at int) ints {
		if at == 6 {
			return stream.Fail[int](stream.Permanent(errBoom))
		}
		return numbers(9, 3, false)(at).Catch(func(error) ints { return stream.Empty[int]() }) // it ends well after three
	}
	expectValues(t, operators.Resume(0, feed, latest, again), upTo(3), nil)
	expectValues(t, operators.Resume(0, func(at int) ints { return feed(at).MustNotEnd(errCause) }, latest, again), upTo(6), errBoom)
}

// A position that the source has lost: open catches the error and goes on from a snapshot.
func TestResume_LostPosition(t *testing.T) {
	errGone := errors.New("410 Gone")
	const oldest = 7 // what is before has been purged
	open := func(at int) ints {
		return stream.Defer(func(context.Context) ints {
			if at > 0 && at+1 < oldest {
				return stream.Fail[int](fmt.Errorf("offset %d: %w", at, errGone))
			}
			return numbers(12, 3, false)(at)
		}).Catch(func(err error) ints {
			if !errors.Is(err, errGone) {
				return stream.Fail[int](err)
			}
			return stream.Of(100 + oldest).Concat(numbers(12, 3, false)(oldest)) // the snapshot is what 7 left behind
		})
	}
	expectValues(t, operators.Resume(0, open, func(_, v int) int { return v % 100 }, again), []int{1, 2, 3, 107, 8, 9, 10, 11, 12}, nil)
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

// A position may be a sum: the bytes that have been read, say.
func TestResume_PositionIsASum(t *testing.T) {
	const text = "the position is how many bytes have been taken"
	reads := 0
	s := operators.Resume(0, func(at int) stream.Stream[string] {
		rest := text[at:]
		reads++
		pieces := strings.SplitAfter(rest, " ")
		if len(pieces) > 3 {
			return stream.FromSlice(pieces[:3]).Concat(stream.Fail[string](errBoom))
		}
		return stream.FromSlice(pieces)
	}, func(at int, v string) int { return at + len(v) }, again)
	got, err := s.Collect(t.Context())
	if strings.Join(got, "") != text || err != nil || reads != 3 {
		t.Errorf("got %q, %v in %d reads", got, err, reads)
	}
}

// An event without an id leaves the position where it is.
func TestResume_PositionThatAValueDoesNotChange(t *testing.T) {
	type event struct{ id, data string }
	log := []event{{"1", "a"}, {"", "b"}, {"", "c"}, {"2", "d"}, {"", "e"}, {"3", "f"}}
	var opened []string
	s := operators.Resume("", func(at string) stream.Stream[event] {
		opened = append(opened, at)
		from := slices.IndexFunc(log, func(e event) bool { return e.id == at }) + 1
		if at == "" {
			from = 0
		}
		if len(opened) < 4 {
			return stream.FromSlice(log[from:min(from+2, len(log))]).Concat(stream.Fail[event](errBoom))
		}
		return stream.FromSlice(log[from:])
	}, func(at string, e event) string {
		if e.id == "" {
			return at
		}
		return e.id
	}, again)
	got, err := s.Collect(t.Context())
	// b comes again with each attempt that begins behind 1, for it has no place of its own.
	const want = "a b b c b c b c d e f"
	var data []string
	for _, e := range got {
		data = append(data, e.data)
	}
	if strings.Join(data, " ") != want || err != nil || !slices.Equal(opened, []string{"", "1", "1", "1"}) {
		t.Errorf("got %v, %v, opened at %q", data, err, opened)
	}
}

// One position for each partition, in a map that is copied.
func TestResume_PositionPerPartition(t *testing.T) {
	type message struct{ partition, offset int }
	const partitions, length = 3, 8
	attempts := 0
	s := operators.Resume(map[int]int{}, func(at map[int]int) stream.Stream[message] {
		var rest []message
		for offset := range length {
			for p := range partitions {
				if offset >= at[p] {
					rest = append(rest, message{p, offset})
				}
			}
		}
		if attempts++; len(rest) > 5 {
			return stream.FromSlice(rest[:5]).Concat(stream.Fail[message](errBoom))
		}
		return stream.FromSlice(rest)
	}, func(at map[int]int, m message) map[int]int {
		at = maps.Clone(at)
		at[m.partition] = m.offset + 1
		return at
	}, again)
	for range 2 { // the start has not been written to
		got, err := s.Collect(t.Context())
		seen := map[message]int{}
		for _, m := range got {
			seen[m]++
		}
		if err != nil || len(got) != partitions*length || len(seen) != len(got) {
			t.Errorf("%d values, %d of them different, %v", len(got), len(seen), err)
		}
	}
}

// A bookmark moves the position without a value: it travels in the values' envelope, and a Filter behind drops it.
func TestResume_Bookmark(t *testing.T) {
	type envelope struct {
		revision int
		value    string // "" for a bookmark
	}
	var opened []int
	s := operators.Resume(0, func(at int) stream.Stream[envelope] {
		opened = append(opened, at)
		switch at {
		case 0:
			return stream.Of(envelope{1, "a"}, envelope{50, ""}).Concat(stream.Fail[envelope](errBoom))
		default:
			return stream.Of(envelope{at + 1, "b"})
		}
	}, func(_ int, e envelope) int { return e.revision }, again).
		Filter(func(e envelope) bool { return e.value != "" })
	got, err := s.Collect(t.Context())
	if want := []envelope{{1, "a"}, {51, "b"}}; err != nil || !slices.Equal(got, want) || !slices.Equal(opened, []int{0, 50}) {
		t.Errorf("got %v, %v, opened at %v", got, err, opened)
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

// To be sure of each effect the position is stored with it, and is where the next process starts.
func TestResume_PositionStoredWithTheEffect(t *testing.T) {
	var store struct{ position, sum int } // what one transaction writes
	feed := stream.Defer(func(context.Context) stream.Stream[[]int] {
		return operators.Batch(operators.Resume(store.position, numbers(100, 7, false), latest, again), 6, 0)
	})
	for crashes := 0; store.position < 100; crashes++ {
		if crashes > 100 {
			t.Fatal("it never gets on")
		}
		batches := 0
		err := feed(t.Context(), func(batch []int) bool {
			if batches++; batches == 3 {
				return false // the process dies while it processes a batch
			}
			for _, v := range batch {
				store.sum += v
				store.position = v
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := 100 * 101 / 2; store.sum != want {
		t.Errorf("the sum is %d, want %d", store.sum, want)
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
