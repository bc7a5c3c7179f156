package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

type (
	mark  = operators.Marked[int, int]
	marks = stream.Stream[mark]
)

func at(v int) mark       { return mark{Value: v, At: v} }
func bookmark(p int) mark { return mark{At: p, Bookmark: true} }

// broken fails after the given marks.
func broken(m ...mark) marks { return stream.Of(m...).Concat(stream.Fail[mark](errBoom)) }

// markedNumbers is a log of the numbers 1 to n, each at its own position, with a bookmark at the position before each.
func markedNumbers(n, cut int, apart bool) func(at int) marks {
	return func(p int) marks {
		return operators.ConcatMap(numbers(n, cut, apart)(p), func(v int) marks { return stream.Of(bookmark(v-1), at(v)) })
	}
}

// The order of things: open with a position; a value, delivered; a bookmark, not delivered; and open with what they
// said.
func TestResumeMarked_Order(t *testing.T) {
	var opened []int
	s := operators.ResumeMarked(7, func(p int) marks {
		opened = append(opened, p)
		switch len(opened) {
		case 1:
			return broken(mark{1, 10, false}, mark{2, 20, false})
		case 2:
			return broken(mark{3, 30, false}, bookmark(35))
		case 3:
			return broken()
		case 4:
			return broken(bookmark(34)) // back
		case 5:
			return broken(mark{4, 40, false}, mark{5, 7, false}) // back
		}
		return stream.Of(mark{6, 8, false}, bookmark(9))
	}, again)
	if opened != nil {
		t.Error("open was called before the stream was run")
	}
	for range 2 { // each run begins at start
		opened = nil
		expectValues(t, s, upTo(6), nil)
		if want := []int{7, 20, 35, 35, 34, 7}; !slices.Equal(opened, want) {
			t.Errorf("opened at %v, want %v", opened, want)
		}
	}
}

// A value at which the consumer stops, panics or exits does not move the position, and nothing moves it afterwards.
func TestResumeMarked_ConsumerThatDoesNotTakeAValue(t *testing.T) {
	for how := range refusals {
		moved, went := 0, 0
		expectRefusal(t, operators.ResumeMarked(0, func(p int) marks {
			moved = p
			return func(_ context.Context, yield func(mark) bool) error {
				_ = yield(at(1)) && yield(at(2)) && yield(at(3))
				for yield(bookmark(9)) { // a source that does not stop by itself
					went++
				}
				return errBoom
			}
		}, again), how)
		if moved != 0 || went != 0 {
			t.Errorf("%s: opened at %d; %d bookmarks were taken", how, moved, went)
		}
	}
}

// observing is a handler that answers every failure, and observes.
type observing struct {
	items     []int64
	recovered int
}

func (c *observing) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	return failures.Tap(func(f stream.Failure) { c.items = append(c.items, f.Items) })
}

func init() {
	others := attempt.ObserverOf
	attempt.ObserverOf = func(handler any) (attempt.Observer, bool) {
		if o, ok := handler.(*observing); ok {
			return o, false
		}
		return others(handler)
	}
}

func (c *observing) Early() bool { return false }

func (c *observing) Observe(s *attempt.Subscription) attempt.Observation {
	s.Observe(c)
	return c
}
func (c *observing) Next(*attempt.Attempt) error                        { return nil }
func (c *observing) Once(*attempt.Subscription, attempt.Attempt, error) {}
func (c *observing) Count(*attempt.Attempt)                             {}
func (c *observing) Begins()                                            {}
func (c *observing) Works()                                             { c.recovered++ }
func (c *observing) Over(attempt.Attempt, error)                        {}

// A bookmark is no delivered value: it is not in Items. It ends an outage.
func TestResumeMarked_ABookmarkIsNoProgress(t *testing.T) {
	c := &observing{}
	attempts := 0
	s := operators.ResumeMarked(0, func(int) marks {
		switch attempts++; attempts {
		case 1, 2:
			return broken(bookmark(1), bookmark(2))
		case 3:
			return broken(bookmark(3), at(4), bookmark(5))
		}
		return stream.Of(bookmark(6))
	}, c)
	expectValues(t, s, []int{4}, nil)
	if want := []int64{0, 0, 1}; !slices.Equal(c.items, want) || c.recovered != 3 { // once in each attempt after a failure
		t.Errorf("the attempts delivered %v, want %v; recovered %d times", c.items, want, c.recovered)
	}
}

// So a source that greets with a bookmark and fails uses up a Limit with ResetAfterItems(1), and BeforeFirstItem still
// retries it; a value after the bookmark changes both.
func TestResumeMarked_BookmarksAndPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		option       retry.Option
		sick         marks
		wantAttempts int
		wantErr      error
	}{
		"ResetAfterItems, bookmarks": {retry.ResetAfterItems(1), broken(bookmark(1)), 5, retry.ErrLimit},
		"ResetAfterItems, values":    {retry.ResetAfterItems(1), broken(at(1)), 50, nil},
		"BeforeFirstItem, bookmarks": {retry.BeforeFirstItem(), broken(bookmark(1)), 5, retry.ErrLimit},
		"BeforeFirstItem, values":    {retry.BeforeFirstItem(), broken(at(1)), 1, errBoom},
		"a budget, bookmarks":        {retry.WithBudget(retry.NewBudget(2, 1, 1)), broken(bookmark(1)), 3, retry.ErrBudget},
	} {
		t.Run(name, func(t *testing.T) {
			attempts := 0
			s := operators.ResumeMarked(0, func(int) marks {
				if attempts++; attempts == 50 {
					return stream.Empty[mark]()
				}
				return c.sick
			}, again.With(retry.Limit(4), c.option))
			if err := s.ForEach(t.Context(), func(int) {}); attempts != c.wantAttempts || !errors.Is(err, c.wantErr) {
				t.Errorf("%v after %d attempts, want %v after %d", err, attempts, c.wantErr, c.wantAttempts)
			}
		})
	}
}

func TestResumeMarked_OpenReturnsNil(t *testing.T) {
	for _, failures := range []int{0, 2} {
		opened := 0
		s := operators.ResumeMarked(0, func(int) marks {
			if opened++; opened <= failures {
				return broken()
			}
			return nil
		}, again)
		_, err := s.RetryWhen(again).Collect(t.Context()) // the outer one does not retry it either
		if err == nil || err.Error() != "operators: ResumeMarked: open returned a nil stream" || opened != failures+1 {
			t.Errorf("after %d failures: %v, opened %d times", failures, err, opened)
		}
	}
}

// ResumeMarked keeps the contract of stream.Stream; each run of one and the same stream begins at start, also side by
// side.
func TestResumeMarked_Check(t *testing.T) {
	everySecond := constant(time.Second)
	for name, open := range map[string]func(p int) marks{
		"at once":   markedNumbers(150, 9, false),
		"slow":      markedNumbers(20, 3, true),
		"bookmarks": func(p int) marks { return stream.Of(bookmark(1), bookmark(2)).Delay(time.Second) },
		"failing":   func(p int) marks { return broken(bookmark(p)) },
		"never ending": func(p int) marks {
			return markedNumbers(p+2, 2, true)(p).Concat(stream.Never[mark]().Timeout(3 * time.Second))
		},
		"permanent": func(p int) marks {
			return markedNumbers(9, 3, true)(p).Concat(stream.Fail[mark](stream.Permanent(errBoom)))
		},
		"nil": func(int) marks { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			one := operators.ResumeMarked(0, open, everySecond)
			streamtest.Check(t, func() ints { return one })
		})
	}
}

// A source of transactions with bookmarks between them, that is cut anywhere, falls silent and ends early, at random:
// each row comes once, in order.
func TestResumeMarked_Soak(t *testing.T) {
	n := soakLength()
	bubble(t, "", func(t *testing.T) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		type place struct{ before, taken int } // rows before the transaction, and taken of it
		type row = operators.Marked[int, place]
		length := func(before int) int { return min(1+before*7919%5, n-before) } // of the transaction
		attempts := 0
		open := func(p place) stream.Stream[row] {
			attempts++
			sent, stop := 0, r.IntN(200)
			log := stream.Stream[row](func(ctx context.Context, yield func(row) bool) error {
				for before, taken := p.before, p.taken; before < n; before, taken = before+length(before), 0 {
					for i := taken; i < length(before); i++ {
						next := place{before, i + 1}
						if i+1 == length(before) {
							next = place{before: before + i + 1}
						}
						if sent++; sent > stop {
							return errBoom
						}
						if !yield(row{Value: before + i + 1, At: next}) {
							return nil
						}
					}
					if before%3 == 0 && !yield(row{At: place{before: before + length(before)}, Bookmark: true}) {
						return nil
					}
				}
				return nil
			})
			switch r.IntN(3) {
			case 0:
				return log.Catch(func(error) stream.Stream[row] { return stream.Never[row]() }).Timeout(time.Second)
			case 1:
				return log.Buffer(1 + r.IntN(9))
			}
			return log
		}
		policy := retry.New(backoff.Exponential(time.Millisecond, 2).Cap(time.Minute).Jitter(jitter.Full), retry.ResetAfterItems(1))
		expectEach(t, operators.ResumeMarked(place{}, open, policy), n)
		t.Logf("seed %d, %d values in %d attempts", seed, n, attempts)
	})
}

// A later error names an older failure while its outage lasts: a bookmark ends it, as a value does.
func TestResumeMarked_BookmarksEndAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		second marks
		lasts  bool
	}{"a bookmark": {stream.Of(bookmark(1)), false}, "a value": {stream.Of(at(1)), false}, "nothing": {stream.Empty[mark](), true}} {
		bubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errCause)
			defer cancel()
			attempts := 0
			err := operators.ResumeMarked(0, func(int) marks {
				if attempts++; attempts == 1 {
					return broken()
				}
				return c.second.Concat(stream.Never[mark]())
			}, everySecond).ForEach(ctx, func(int) {})
			if !errors.Is(err, errCause) || errors.Is(err, errBoom) != c.lasts {
				t.Errorf("%v; want the older failure in it: %v", err, c.lasts)
			}
		})
	}
}

// ResumePositions delivers everything, bookmarks too; the position moves when the consumer has taken it, and bookmarks
// are no progress.
func TestResumePositions(t *testing.T) {
	var opened []int
	c := &observing{}
	s := operators.ResumePositions(7, func(p int) marks {
		switch opened = append(opened, p); len(opened) {
		case 1:
			return broken(at(8), bookmark(9))
		case 2:
			return broken(bookmark(10))
		}
		return stream.Of(at(11), bookmark(12))
	}, c)
	want := []mark{at(8), bookmark(9), bookmark(10), at(11), bookmark(12)}
	got, err := s.Collect(t.Context())
	if !slices.Equal(got, want) || err != nil || !slices.Equal(opened, []int{7, 9, 10}) {
		t.Errorf("got %v, %v, opened at %v", got, err, opened)
	}
	if !slices.Equal(c.items, []int64{1, 0}) || c.recovered != 2 {
		t.Errorf("the attempts delivered %v; recovered %d times", c.items, c.recovered)
	}
}

// A bookmark at which the consumer stops or panics is not taken, also if the source recovers the panic.
func TestResumePositions_ABookmarkThatIsNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		refuse func() bool
		want   string
	}{
		"stops":  {func() bool { return false }, "<nil>"},
		"panics": {func() bool { panic(errBoom) }, "stream: RetryWhen: the source recovered a panic of its consumer"},
	} {
		t.Run(name, func(t *testing.T) {
			opened := 0
			s := operators.ResumePositions(0, func(int) marks {
				opened++
				return func(_ context.Context, yield func(mark) bool) error {
					defer func() { _ = recover() }()
					_ = yield(bookmark(1))
					return errBoom
				}
			}, again)
			err := s(t.Context(), func(mark) bool { return c.refuse() })
			if fmt.Sprint(err) != c.want || opened != 1 {
				t.Errorf("got %v, opened %d times; want %s", err, opened, c.want)
			}
		})
	}
}

func TestResumePositions_Check(t *testing.T) {
	one := operators.ResumePositions(0, markedNumbers(20, 3, true), constant(time.Second))
	streamtest.Check(t, func() marks { return one })
}
