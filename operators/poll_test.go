package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// server is what is polled: a script of pages, and a journal of when it was asked for what.
type server struct {
	start   time.Time
	pages   []reply // in turn; then none
	journal []string
	took    time.Duration // by each page
}

type reply struct {
	values []int
	next   int
	err    error
}

func (s *server) page(ctx context.Context, at int) ([]int, int, error) {
	s.journal = append(s.journal, fmt.Sprintf("%v:%d", time.Since(s.start), at))
	time.Sleep(s.took)
	if len(s.pages) == 0 {
		return nil, at, nil
	}
	r := s.pages[0]
	s.pages = s.pages[1:]
	return r.values, r.next, r.err
}

// run polls every 10 s until end, and returns the values with their times and the error.
func (s *server) run(ctx context.Context, end time.Duration, h stream.RetryHandler) ([]string, error) {
	s.start = time.Now()
	ctx, cancel := context.WithDeadlineCause(ctx, s.start.Add(end), errCause)
	defer cancel()
	var came []string
	err := operators.Poll(10*time.Second, 0, s.page, h).ForEach(ctx, func(v int) {
		came = append(came, fmt.Sprintf("%v:%d", time.Since(s.start), v))
	})
	return came, err
}

func (s *server) expect(t *testing.T, came []string, wantValues, wantJournal string) {
	t.Helper()
	if got := strings.Join(came, " "); got != wantValues {
		t.Errorf("got %s\nwant %s", got, wantValues)
	}
	if got := strings.Join(s.journal, " "); got != wantJournal {
		t.Errorf("asked %s\nwant  %s", got, wantJournal)
	}
}

var everySecond = constant(time.Second)

// The first page comes at once, what follows a page with values at once, what follows one without values 10 s after
// that page has returned, from the position that it returned.
func TestPoll_WhenPagesAreAsked(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := server{took: 2 * time.Second, pages: []reply{{values: []int{1, 2}, next: 2}, {values: []int{3}, next: 3}, {next: 5}, {}, {values: []int{6}, next: 6}}}
		came, err := s.run(t.Context(), 37*time.Second, everySecond)
		if !errors.Is(err, errCause) {
			t.Error(err)
		}
		s.expect(t, came, "2s:1 2s:2 4s:3 30s:6", "0s:0 2s:2 4s:3 16s:5 28s:0 30s:6")
	})
}

// An error of page is answered by h, and page is asked for the same position after h's delay alone. What comes with the
// error is ignored.
func TestPoll_Errors(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := server{pages: []reply{
			{err: errBoom}, {values: []int{1}, next: 1}, {values: []int{7}, next: 9, err: errBoom}, {err: errBoom}, {next: 1}, {err: errBoom}, {values: []int{2}, next: 2},
		}}
		came, err := s.run(t.Context(), 20*time.Second, everySecond)
		if !errors.Is(err, errCause) {
			t.Error(err)
		}
		s.expect(t, came, "1s:1 14s:2", "0s:0 1s:0 1s:1 2s:1 3s:1 13s:1 14s:1 14s:2")
	})
}

// Poll ends with the error of a page that is permanent, or that h gives up on.
func TestPoll_GivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		h       stream.RetryHandler
		want    error
		journal string
	}{
		"permanent": {stream.Permanent(errBoom), everySecond, errBoom, "0s:0 0s:1"},
		"limit":     {errBoom, everySecond.With(retry.Limit(2)), retry.ErrLimit, "0s:0 0s:1 1s:1 2s:1"},
		"a handler": {errBoom, stream.RetryHandlerFunc(func(f stream.Stream[stream.Failure]) stream.Stream[stream.Failure] { return f.Take(1) }), errBoom, "0s:0 0s:1 0s:1"},
	} {
		bubble(t, name, func(t *testing.T) {
			s := server{pages: []reply{{values: []int{1}, next: 1}, {err: c.err}, {err: c.err}, {err: c.err}}}
			came, err := s.run(t.Context(), time.Minute, c.h)
			if !errors.Is(err, c.want) || !errors.Is(err, errBoom) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			s.expect(t, came, "0s:1", c.journal)
		})
	}
}

// To h a page without an error is one delivered value, with or without values of its own.
func TestPoll_APageIsOneValue(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		h := &observing{}
		s := server{pages: []reply{{values: []int{1, 2, 3}, next: 3}, {next: 3}, {err: errBoom}, {err: errBoom}, {}, {err: errBoom}, {values: []int{4, 5}, next: 5}, {err: errBoom}}}
		if _, err := s.run(t.Context(), time.Minute, h); !errors.Is(err, errCause) {
			t.Error(err)
		}
		if want := []int64{2, 0, 1, 1}; !slices.Equal(h.items, want) || h.recovered != 3 {
			t.Errorf("the attempts delivered %v, want %v; recovered %d times", h.items, want, h.recovered)
		}
	})
}

// So a poll that works as a rule never uses up a Limit with ResetAfterItems(1), though nothing new may come.
func TestPoll_EmptyPagesAreProgress(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := server{}
		for range 20 {
			s.pages = append(s.pages, reply{err: errBoom}, reply{err: errBoom}, reply{})
		}
		var outages []int
		policy := everySecond.With(retry.Limit(2), retry.ResetAfterItems(1),
			retry.OnRecovered(func(_ context.Context, r retry.Recovery) { outages = append(outages, r.Retries) }))
		came, err := s.run(t.Context(), time.Hour, policy)
		if !errors.Is(err, errCause) || came != nil || !slices.Equal(outages, slices.Repeat([]int{2}, 20)) {
			t.Errorf("got %v, %v, recovered after %v", came, err, outages)
		}
	})
}

// AttemptFrom under page: one more than the errors since page last worked; without one, the number around Poll.
func TestPoll_AttemptFrom(t *testing.T) {
	for _, around := range []int{1, 3} {
		var numbers []int
		var contexts []context.Context
		fails := []bool{false, true, true, false, false, true, false, false, true}
		poll := operators.Poll(time.Second, 0, func(ctx context.Context, at int) ([]int, int, error) {
			n := len(numbers)
			numbers = append(numbers, stream.AttemptFrom(ctx))
			contexts = append(contexts, ctx)
			switch {
			case n == len(fails):
				return nil, 0, stream.Permanent(errBoom)
			case fails[n]:
				return nil, 0, errBoom
			}
			return []int{n}, at + 1, nil
		}, again)
		outer := 0
		err := stream.Defer(func(context.Context) ints {
			if outer++; outer < around {
				return stream.Fail[int](errCause)
			}
			return poll
		}).RetryWhen(again).ForEach(t.Context(), func(int) {})
		want := []int{around, around, 2, 3, around, around, 2, around, around, 2}
		if !errors.Is(err, errBoom) || !slices.Equal(numbers, want) {
			t.Errorf("inside attempt %d: page was called in attempts %v, want %v; %v", around, numbers, want, err)
		}
		for i, ctx := range contexts {
			if n := stream.AttemptFrom(ctx); n != numbers[i] {
				t.Errorf("inside attempt %d: the context of page %d said %d, and now %d", around, i, numbers[i], n)
			}
		}
	}
}

// A page with values that leads to its own position, or pages with values in a circle, are found within three rounds.
// The page that shows it is not delivered, and nothing retries the error.
func TestPoll_Stuck(t *testing.T) {
	for _, tail := range []int{0, 1, 2, 5, 40, 1000} {
		for _, circle := range []int{1, 2, 3, 4, 7, 8, 9, 50} {
			asked, delivered, outer := 0, 0, 0
			s := operators.Poll(time.Second, 0, func(_ context.Context, at int) ([]int, int, error) {
				asked++
				if at+1 == tail+circle {
					return []int{1}, tail, nil
				}
				return []int{1}, at + 1, nil
			}, again)
			err := stream.Defer(func(context.Context) ints { outer++; return s }).RetryWhen(again).ForEach(t.Context(), func(int) { delivered++ })
			if !errors.Is(err, operators.ErrStuck) || outer != 1 || delivered != asked-1 {
				t.Errorf("%d pages, then a circle of %d: %v after %d pages, of which %d were delivered, in %d runs", tail, circle, err, asked, delivered, outer)
			}
			if rounds := float64(asked-tail) / float64(circle); rounds > 3 || tail == 0 && rounds > 1 || circle == 1 && rounds > 1 {
				t.Errorf("%d pages, then a circle of %d: found after %d pages", tail, circle, asked)
			}
		}
	}
}

func TestPoll_StuckSaysWhere(t *testing.T) {
	asked := 0
	_, err := operators.Poll(time.Second, "x", func(context.Context, string) ([]string, string, error) {
		asked++
		return []string{"a", "b"}, "x", nil
	}, again).Collect(t.Context())
	const want = `operators: Poll: the position does not advance: the page at "x" (2 values) leads to "x", which came before`
	if err == nil || err.Error() != want || asked != 1 {
		t.Errorf("after %d pages got  %v\nwant %s after one", asked, err, want)
	}
}

// Pages in a circle with one page that has no values are no mistake: a table that is read from its start again and
// again.
func TestPoll_ACircleWithAnEmptyPage(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 59500*ms, errCause)
		defer cancel()
		n := 0
		err := operators.Poll(time.Second, 0, func(_ context.Context, at int) ([]int, int, error) {
			if at == 5 {
				return nil, 0, nil
			}
			return []int{at}, at + 1, nil
		}, again).ForEach(ctx, func(int) { n++ })
		if !errors.Is(err, errCause) || n != 60*5 {
			t.Errorf("%d values, %v", n, err)
		}
	})
}

// When ctx ends amid a page the rest of the page is not delivered, and the error matches the cause. A page that comes
// after the end is ignored. A consumer that stops amid a page ends Poll without an error.
func TestPoll_EndsAmidAPage(t *testing.T) {
	for name, c := range map[string]struct {
		stop bool
		err  error
	}{"ctx ends": {false, errCause}, "the consumer stops": {true, nil}} {
		bubble(t, name, func(t *testing.T) {
			asked, n := 0, 0
			ctx, cancel := context.WithCancelCause(t.Context())
			err := operators.Poll(time.Second, 0, func(_ context.Context, at int) ([]int, int, error) {
				asked++
				return []int{1, 2, 3, 4, 5}, at + 1, nil
			}, again)(ctx, func(int) bool {
				if n++; n == 7 {
					cancel(errCause)
				}
				return n < 7 || !c.stop
			})
			if !errors.Is(err, c.err) || n != 7 || asked != 2 {
				t.Errorf("%d values of %d pages, %v", n, asked, err)
			}
		})
	}
	for name, late := range map[string]reply{"a late page": {values: []int{1}, next: 1}, "a late error": {err: errBoom}} {
		bubble(t, name, func(t *testing.T) {
			s := server{took: time.Minute, pages: []reply{late}}
			came, err := s.run(t.Context(), time.Second, again)
			if !errors.Is(err, errCause) || !errors.Is(err, context.DeadlineExceeded) || late.err != nil && !errors.Is(err, errBoom) {
				t.Errorf("got %v", err)
			}
			s.expect(t, came, "", "0s:0")
		})
	}
}

// Poll keeps the contract of stream.Stream; runs share nothing.
func TestPoll_Check(t *testing.T) {
	for name, page := range map[string]func(ctx context.Context, at int) ([]int, int, error){
		"values":  func(_ context.Context, at int) ([]int, int, error) { return []int{at, at + 1}, at + 2, nil },
		"nothing": func(_ context.Context, at int) ([]int, int, error) { return nil, at, nil },
		"both": func(_ context.Context, at int) ([]int, int, error) {
			if at%4 == 3 {
				return nil, at + 1, nil
			}
			return []int{at}, at + 1, nil
		},
		"failing": func(context.Context, int) ([]int, int, error) { return nil, 0, errBoom },
		"slow": func(ctx context.Context, at int) ([]int, int, error) {
			if _, err := stream.Timer(time.Second).One(ctx); err != nil {
				return nil, 0, err
			}
			if at%2 == 0 && stream.AttemptFrom(ctx) == 1 {
				return []int{1}, 7, errBoom
			}
			return []int{at}, at + 1, nil
		},
		"stuck":     func(_ context.Context, at int) ([]int, int, error) { return []int{1}, min(at+1, 5), nil },
		"permanent": func(_ context.Context, at int) ([]int, int, error) { return nil, 0, stream.Permanent(errBoom) },
	} {
		t.Run(name, func(t *testing.T) {
			one := operators.Poll(3*time.Second, 0, page, everySecond)
			streamtest.Check(t, func() ints { return one })
		})
	}
}

// A table that grows, behind a server that fails and drops what it has at random: each row comes once, in order.
func TestPoll_Soak(t *testing.T) {
	n := soakLength()
	bubble(t, "", func(t *testing.T) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		rows, asked := 0, 0
		page := func(_ context.Context, at int) ([]int, int, error) {
			asked++
			time.Sleep(time.Duration(r.IntN(100)) * ms)
			rows = min(n, rows+r.IntN(200))
			most := min(rows, at+r.IntN(150))
			var values []int
			for v := at + 1; v <= most; v++ {
				values = append(values, v)
			}
			if r.IntN(4) == 0 {
				return values, most, errBoom
			}
			return values, most, nil
		}
		policy := retry.New(backoff.Exponential(time.Millisecond, 2).Cap(time.Minute).Jitter(jitter.Full), retry.ResetAfterItems(1), retry.Limit(60))
		expectEach(t, operators.Poll(time.Second, 0, page, policy).Take(n), n)
		t.Logf("seed %d, %d rows in %d pages", seed, n, asked)
	})
}

// A page refunds a budget once, whatever it holds, and ends the outage for later errors.
func TestPoll_BudgetAndOutage(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := server{pages: []reply{{err: errBoom}, {err: errBoom}, {values: []int{1, 2, 3}, next: 3}, {err: errBoom}, {}, {err: errBoom}, {err: errBoom}}}
		_, err := s.run(t.Context(), time.Minute, everySecond.With(retry.WithBudget(retry.NewBudget(2, 1, 1))))
		// 2 tokens are spent, 1 comes back, is spent, comes back, is spent; then there is none.
		s.expect(t, nil, "", "0s:0 1s:0 2s:0 2s:3 3s:3 13s:0 14s:0")
		if !errors.Is(err, retry.ErrBudget) {
			t.Error(err)
		}
	})
	bubble(t, "", func(t *testing.T) {
		s := server{pages: []reply{{err: errBoom}}}
		if _, err := s.run(t.Context(), time.Minute, everySecond); !errors.Is(err, errCause) || errors.Is(err, errBoom) {
			t.Errorf("after the page that worked: %v", err)
		}
	})
}
