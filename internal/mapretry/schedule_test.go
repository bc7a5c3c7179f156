package mapretry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// Each item is a word with its calls: how many seconds each takes, then x and the wait if it fails, or ! if it fails for
// good. An outcome is the second, then what happened: a call, a result that the consumer receives, the source's go-ahead
// after a wait, a signal, the end, an item that was left.
func TestSchedule(t *testing.T) {
	for name, c := range map[string]struct {
		workers, pending int
		ordered          bool
		items            string
		consumer         int // seconds that it takes for each result
		signal           int // when it fires
		want             string
	}{
		"one worker makes one call after the other": {
			workers: 1, pending: 9, items: "1 1 1",
			want: "0 call 0, 1 call 1, 1 out 0, 2 call 2, 2 out 1, 3 end, 3 out 2",
		},
		"two calls at once": {
			workers: 2, pending: 9, items: "2 3 2",
			want: "0 call 0, 0 call 1, 2 call 2, 2 out 0, 3 out 1, 4 end, 4 out 2",
		},
		"no more workers than items": {
			workers: 9, pending: 9, items: "2 2 2",
			want: "0 call 0, 0 call 1, 0 call 2, 2 end, 2 out 0, 2 out 1, 2 out 2",
		},
		"no more calls than MaxPending": {
			workers: 9, pending: 2, items: "2 3 2",
			want: "0 call 0, 0 call 1, 2 call 2, 2 go, 2 out 0, 3 out 1, 4 end, 4 out 2",
		},
		"an item waits, and its worker goes on": {
			workers: 1, pending: 9, items: "1x9,1 2",
			want: "0 call 0, 1 call 1, 3 out 1, 10 call 0, 11 end, 11 out 0",
		},
		"an item that is due during the only worker's call is called after it": {
			workers: 1, pending: 9, items: "1x2,1 7",
			want: "0 call 0, 1 call 1, 8 call 0, 8 out 1, 9 end, 9 out 0",
		},
		"what is due goes before what is new": {
			workers: 1, pending: 9, items: "1x2,1 4 1",
			want: "0 call 0, 1 call 1, 5 call 0, 5 out 1, 6 call 2, 6 out 0, 7 end, 7 out 2",
		},
		"a retry without a wait too": {
			workers: 1, pending: 9, items: "1x0,1 1",
			want: "0 call 0, 1 call 0, 2 call 1, 2 out 0, 3 end, 3 out 1",
		},
		"of those that are due together the one that has waited longest is first": {
			workers: 1, pending: 9, items: "1x9,1 1x8,1 1x7,1 1x6,1",
			want: "0 call 0, 1 call 1, 2 call 2, 3 call 3, 10 call 0, 11 call 1, 11 out 0, 12 call 2, 12 out 1, 13 call 3, 13 out 2, 14 end, 14 out 3",
		},
		"a later item with a shorter wait is called before": {
			workers: 1, pending: 9, items: "1x9,1 1x3,1",
			want: "0 call 0, 1 call 1, 5 call 1, 6 out 1, 10 call 0, 11 end, 11 out 0",
		},
		"also if it fails while the other worker watches": {
			workers: 2, pending: 9, items: "1x9,1 2x3,1",
			want: "0 call 0, 0 call 1, 5 call 1, 6 out 1, 10 call 0, 11 end, 11 out 0",
		},
		"one with a longer wait is called after": {
			workers: 2, pending: 9, items: "1x3,1 2x9,1",
			want: "0 call 0, 0 call 1, 4 call 0, 5 out 0, 11 call 1, 12 end, 12 out 1",
		},
		"another worker makes the call that is due during a long one": {
			workers: 2, pending: 9, items: "1x4,1 9",
			want: "0 call 0, 0 call 1, 5 call 0, 6 out 0, 9 end, 9 out 1",
		},
		"also if it was the last to come": {
			workers: 2, pending: 9, items: "1x4,9 1x4,9 9",
			want: "0 call 0, 0 call 1, 1 call 2, 5 call 0, 10 call 1, 10 out 2, 14 out 0, 19 end, 19 out 1",
		},
		"all workers come for what is due together": {
			workers: 3, pending: 9, items: "1x4,2 1x4,2 1x4,2",
			want: "0 call 0, 0 call 1, 0 call 2, 5 call 0, 5 call 1, 5 call 2, 7 end, 7 out 0, 7 out 1, 7 out 2",
		},
		"a signal ends the waits": {
			workers: 1, pending: 9, items: "1x90,1 1x80,1", signal: 7,
			want: "0 call 0, 1 call 1, 7 call 0, 7 signal, 8 call 1, 8 out 0, 9 end, 9 out 1",
		},
		"but not those that begin after it": {
			workers: 1, pending: 9, items: "1x9,1 7x9,1", signal: 4,
			want: "0 call 0, 1 call 1, 4 signal, 8 call 0, 9 out 0, 17 call 1, 18 end, 18 out 1",
		},
		"the source waits when enough is pending": {
			workers: 1, pending: 2, items: "1x9,1 1x9,1 1",
			want: "0 call 0, 1 call 1, 10 call 0, 11 call 1, 11 go, 11 out 0, 12 call 2, 12 out 1, 13 end, 13 out 2",
		},
		"it waits when four are not called yet, until two of them are": {
			workers: 1, pending: 99, items: "1 1 1 1 1 1 1",
			want: "0 call 0, 1 call 1, 1 out 0, 2 call 2, 2 go, 2 out 1, 3 call 3, 3 out 2, 4 call 4, 4 out 3, 5 call 5, 5 out 4, 6 call 6, 6 out 5, 7 end, 7 out 6",
		},
		"in order, a result waits for the earlier ones": {
			workers: 2, pending: 9, ordered: true, items: "3 1 1",
			want: "0 call 0, 0 call 1, 1 call 2, 3 end, 3 out 0, 3 out 1, 3 out 2",
		},
		"and is pending meanwhile": {
			workers: 1, pending: 2, ordered: true, items: "1x9,1 1 1",
			want: "0 call 0, 1 call 1, 10 call 0, 11 call 2, 11 go, 11 out 0, 11 out 1, 12 end, 12 out 2",
		},
		"a slow consumer holds back the calls": {
			workers: 1, pending: 99, items: "1 1 1 1 1 1 1 1", consumer: 10,
			want: "0 call 0, 1 call 1, 1 out 0, 2 call 2, 2 go, 3 call 3, 4 call 4, 4 go, 11 call 5, 11 out 1, 21 call 6, 21 out 2, 31 call 7, 31 out 3, 41 out 4, 51 out 5, 61 out 6, 71 out 7, 81 end",
		},
		"after a failure that ends the stream no item is called": {
			workers: 2, pending: 99, items: "5! 1x3,1 3 9x1 1",
			want: "0 call 0, 0 call 1, 1 call 2, 4 call 1, 4 out 2, 5 end, 5 left 1, 5 left 3, 5 left 4",
		},
		"an item that waits when the stream ends is left": {
			workers: 2, pending: 9, items: "3! 1x9,1",
			want: "0 call 0, 0 call 1, 3 end, 3 left 1",
		},
		"in order, the earlier items are finished before": {
			workers: 2, pending: 99, ordered: true, items: "1x9,1 3! 1x9,1",
			want: "0 call 0, 0 call 1, 1 call 2, 10 call 0, 11 end, 11 left 2, 11 out 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := playing{start: time.Now(), items: strings.Fields(c.items), calls: make([]int, 9)}
				s := retry.NewSignal()
				if c.signal > 0 {
					defer time.AfterFunc(time.Duration(c.signal)*time.Second, func() { p.note("signal"); s.Fire() }).Stop()
				}
				_ = Run(t.Context(), p.source, retry.New(backoff.Backoff{}, retry.ResetOn(s)), p.call, Options[int]{
					Workers: c.workers, MaxPending: c.pending, Ordered: c.ordered,
					OnAbandon: func(i, _ int) { p.note("left", i) },
				}, func(i int) bool {
					p.note("out", i)
					time.Sleep(time.Duration(c.consumer) * time.Second)
					return true
				})
				p.note("end")
				if got := p.outcomes(); got != c.want {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
			})
		})
	}
}

// playing is the source and the calls of a test, and what happened.
type playing struct {
	start    time.Time
	items    []string
	calls    []int // of each item
	mu       sync.Mutex
	happened []outcome
}

type outcome struct {
	second int
	what   string
}

func (p *playing) note(what ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.happened = append(p.happened, outcome{int(time.Since(p.start).Seconds()), strings.TrimSpace(fmt.Sprintln(what...))})
}

// outcomes returns what happened. What happened in the same second is in alphabetical order.
func (p *playing) outcomes() string {
	slices.SortStableFunc(p.happened, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(a.second, b.second), cmp.Compare(a.what, b.what))
	})
	var text []string
	for _, o := range p.happened {
		text = append(text, fmt.Sprint(o.second, " ", o.what))
	}
	return strings.Join(text, ", ")
}

func (p *playing) source(_ context.Context, yield func(int) bool) error {
	for i := range p.items {
		if i == 1 {
			time.Sleep(time.Millisecond) // until the first call has begun
		}
		before := time.Now()
		if !yield(i) {
			return nil
		}
		if time.Since(before) > 0 {
			p.note("go")
		}
	}
	return nil
}

func (p *playing) call(ctx context.Context, i int) (int, error) {
	p.note("call", i)
	p.mu.Lock()
	call := strings.Split(p.items[i], ",")[p.calls[i]]
	p.calls[i]++
	p.mu.Unlock()
	takes, wait, fails := strings.Cut(call, "x")
	takes, permanent := strings.CutSuffix(takes, "!")
	select {
	case <-time.After(seconds(takes)):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	switch {
	case permanent:
		return 0, retry.Permanent(errBoom)
	case fails:
		return 0, retry.RetryAfter(errBoom, seconds(wait))
	}
	return i, nil
}

func seconds(s string) time.Duration {
	d, err := time.ParseDuration(s + "s")
	if err != nil {
		panic(err)
	}
	return d
}

// No worker comes without work, and no timer is set that nobody watches.
func TestScheduler_DoesNothingInVain(t *testing.T) {
	s := newScheduler[int, int](9, 9, false)
	var w worker[int]
	s.offer(0)
	s.arrive()
	if step, _ := s.next(&w, unknown); step != makeCall || s.todo != (todo{start: 1}) {
		t.Errorf("the first worker's step is %d, to do is %+v", step, s.todo)
	}
	s.wait(&w, 1, 9, 0, 0)
	s.offer(1)
	if step, _ := s.next(&w, 1); step != makeCall {
		t.Errorf("before a call, nobody watches, and the step is %d", step)
	}
}
