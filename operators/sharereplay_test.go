package operators_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestShareReplay_Marbles(t *testing.T) {
	for name, c := range map[string]struct {
		n int
		sharing
	}{
		"late ones get the last values first": {2, sharing{"--a--b--------c----d--|", []consumer{
			{"", "--a--b--------c----d--|"}, {"---^", "---a-b--------c----d--|"}, {"------^", "------(ab)----c----d--|"},
		}, []string{"^---------------------!"}}},
		"and after the end too, without a new run": {2, sharing{"-a-b-c|", []consumer{{"", "-a-b-c|"}, {"----------^", "----------(bc|)"}, {"---------------^", "---------------(bc|)"}},
			[]string{"^-----!"}}},
		"there may be fewer":               {9, sharing{"-a|", []consumer{{"", "-a|"}, {"-----^", "-----(a|)"}}, []string{"^-!"}}},
		"or none":                          {9, sharing{"--|", []consumer{{"", "--|"}, {"-----^", "-----|"}}, []string{"^-!"}}},
		"after an error it runs again":     {2, sharing{"-a-b#\n-c|", []consumer{{"", "-a-b#"}, {"--^", "--ab#"}, {"-------^", "--------c|"}}, []string{"^---!", "-------^-!"}}},
		"all who are there get the error":  {1, sharing{"-a---#", []consumer{{"", "-a---#"}, {"---^", "---a-#"}}, []string{"^----!"}}},
		"the last one to leave cancels it": {2, sharing{"-a-b-c-d|\n--x|", []consumer{{"----!", "-a-b-"}, {"--^!", "--a"}, {"------^", "--------x|"}}, []string{"^---!", "------^--!"}}},
		"one leaves, the other goes on":    {2, sharing{"-a-b-c-|", []consumer{{"--!", "-a-"}, {"", "-a-b-c-|"}}, []string{"^------!"}}},
		"of one that never ends":           {1, sharing{"-a-b---", []consumer{{"", "-a-b---"}, {"-----^", "-----b--"}}, []string{"^"}}},
		"of one that ends at once":         {3, sharing{"(ab|)", []consumer{{"", "(ab|)"}, {"---^", "---(ab|)"}}, []string{"(^!)"}}},
	} {
		expectShared(t, name, c.sharing, func(s strs) strs { return operators.ShareReplay(s, c.n) })
	}
	expectShared(t, "retried by each of its consumers, who share the next run", sharing{"-a-b-#", []consumer{
		{"", "-a-b--a-b-#"}, {"--^", "--ab--a-b-#"},
	}, []string{"^----!", "-----^----!"}}, func(s strs) strs { return operators.ShareReplay(s, 2).Retry(1) })
}

// What comes while a late consumer takes what it has missed waits for it, and is not lost.
func TestShareReplay_ALateConsumerThatIsSlow(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := operators.ShareReplay(fromScript("10a 20b 30c 40d 50|"), 2)
		slow := func(string) bool { time.Sleep(20 * ms); return true }
		consumers(
			after(t, t.Context(), 0, s, yes, "10a 20b 30c 85d 105|"),
			after(t, t.Context(), 25*ms, s, slow, "0a 20b 40c 60d 80|"),
		)
	})
}

// One that comes while a value is in the hands of others gets it once.
func TestShareReplay_OneThatComesWhileAValueIsInHand(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := operators.ShareReplay(fromScript("10a 20b 30|"), 1)
		slow := func(string) bool { time.Sleep(8 * ms); return true }
		consumers(
			after(t, t.Context(), 0, s, slow, "10a 20b 30|"),
			after(t, t.Context(), 12*ms, s, yes, "0a 8b 18|"),
		)
	})
}

// One that leaves among what it has missed holds nobody up, however it leaves.
func TestShareReplay_LeavesAmongWhatItHasMissed(t *testing.T) {
	for name, leave := range map[string]func(context.Context, strs){
		"stop": func(ctx context.Context, s strs) { _, _ = s.Take(1).Collect(ctx) },
		"panic": func(ctx context.Context, s strs) {
			recovered(func() { _ = s(ctx, func(string) bool { panic("mine") }) })
		},
		"cancel": func(ctx context.Context, s strs) {
			ctx, cancel := context.WithCancelCause(ctx)
			n := 0
			if err := s.ForEach(ctx, func(string) { n++; cancel(errCause) }); n != 1 || !errors.Is(err, errCause) {
				panic(err)
			}
		},
	} {
		bubble(t, name, func(t *testing.T) {
			s := operators.ShareReplay(fromScript("10a 20b 30c 40|"), 2)
			consumers(
				after(t, t.Context(), 0, s, yes, "10a 20b 30c 40|"),
				func() {
					time.Sleep(25 * ms)
					start := time.Now()
					if leave(t.Context(), s); time.Since(start) != 0 {
						t.Errorf("it left after %v, want at once", time.Since(start))
					}
				},
			)
			leave(t.Context(), s) // and when it is over
			expectValues(t, s, []string{"b", "c"}, nil)
		})
	}
}

// A panic of the source is no good end: nothing is replayed.
func TestShareReplay_AfterAPanic(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		runs := 0
		src := stream.Of("a").Concat(stream.Defer(func(context.Context) strs {
			if runs++; runs == 1 {
				panic(errBoom)
			}
			return stream.Of("b")
		}))
		s := operators.ShareReplay(src, 5)
		v := recovered(func() { _, _ = s.Collect(t.Context()) })
		if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
			t.Errorf("%v", v)
		}
		expectValues(t, s, []string{"a", "b"}, nil)
		expectValues(t, s, []string{"a", "b"}, nil)
		if runs != 2 {
			t.Errorf("%d runs", runs)
		}
	})
}

// A source that ends well because its last consumer has stopped has not ended: the next consumer runs it.
func TestShareReplay_AStopIsNoEnd(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := operators.ShareReplay(stream.Of("a", "b"), 5)
		expectValues(t, s.Take(1), []string{"a"}, nil)
		expectValues(t, s.Take(2), []string{"a", "b"}, nil)
		expectValues(t, s, []string{"a", "b"}, nil)
	})
}

// Two of one WithLatestFrom: the one that comes late has what it has missed, and once.
func TestShareReplay_BothSidesOfWithLatestFrom(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		src := cold(s, "-a-bc|")
		for range 100 {
			shared := operators.ShareReplay(src, 1)
			streamtest.Expect(s, operators.WithLatestFrom(shared, shared, first)).ToBe("-a-bc|")
		}
		shared := operators.ShareReplay(src, 1)
		late := operators.ConcatMap(stream.Timer(2*ms), func(time.Time) strs { return shared })
		streamtest.Expect(s, operators.WithLatestFrom(shared, late, first)).ToBe("--abc|")
	})
}

// Consumers that come and go, while others want all: none misses a value or gets one twice.
func TestShareReplay_SideBySide(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		const n = 500
		s := operators.ShareReplay(stream.Range(0, n).Delay(ms), 3)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				time.Sleep(time.Duration(i*17) * ms)
				next := max(0, i*17-3)
				first := true
				err := s.ForEach(t.Context(), func(v int) {
					if first {
						if v < next-1 || v > next+1 {
							t.Errorf("the one of %d begins with %d", i*17, v)
						}
						first, next = false, v
					}
					if v != next {
						t.Errorf("got %d, want %d", v, next)
					}
					next++
				})
				if err != nil || next != n {
					t.Errorf("ended before %d: %v", next, err)
				}
			})
			all.Go(func() {
				time.Sleep(time.Duration(i*11) * ms)
				_, _ = s.Take(i + 1).Collect(t.Context())
			})
		}
		all.Wait()
		synctest.Wait()
	})
}
