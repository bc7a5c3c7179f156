package operators_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// consumers runs what they do side by side and waits for all.
func consumers(each ...func()) {
	var all sync.WaitGroup
	for _, f := range each {
		all.Go(f)
	}
	all.Wait()
}

// after plays s from that time on and compares; times are still those since the start.
func after[T any](t *testing.T, ctx context.Context, d time.Duration, s stream.Stream[T], yield func(T) bool, want string) func() {
	return func() {
		time.Sleep(d)
		if got := playWith(ctx, s, yield); got != want {
			t.Errorf("the consumer that came at %v: got  %s\nwant %s", d, got, want)
		}
	}
}

func yes(string) bool { return true }

// sharing is a source, what each of its consumers gets and during which time, and when the source was run.
type sharing struct {
	source    string
	consumers []consumer
	runs      []string
}

type consumer struct{ during, want string }

func expectShared(t *testing.T, name string, c sharing, share func(strs) strs) {
	t.Helper()
	session(t, name, func(s *streamtest.Session) {
		src := streamtest.Cold[string](s, c.source)
		shared := share(src.Stream)
		var all []*streamtest.Expectation[string]
		for _, each := range c.consumers {
			all = append(all, streamtest.ExpectDuring(s, shared, each.during))
		}
		for i, each := range c.consumers {
			all[i].ToBe(each.want)
		}
		src.Subscriptions(c.runs...)
	})
}

func TestShare_Marbles(t *testing.T) {
	for name, c := range map[string]sharing{
		"one run for all": {"-a--b--c-|", []consumer{
			{"", "-a--b--c-|"}, {"--^", "----b--c-|"}, {"--------^", "---------|"},
		}, []string{"^--------!"}},
		"all get the error":                 {"-a--#", []consumer{{"", "-a--#"}, {"--^", "----#"}}, []string{"^---!"}},
		"it runs again after its end":       {"--a-|", []consumer{{"", "--a-|"}, {"------^", "--------a-|"}, {"-------^", "--------a-|"}}, []string{"^---!", "------^---!"}},
		"one is cancelled, the other not":   {"-a-b-c|", []consumer{{"--!", "-a-"}, {"", "-a-b-c|"}}, []string{"^-----!"}},
		"the last one cancels it":           {"-a-b-c|", []consumer{{"--!", "-a-"}, {"----!", "-a-b-"}}, []string{"^---!"}},
		"it runs again after all have left": {"-a-b-c|", []consumer{{"--!", "-a-"}, {"---^", "----a-b-c|"}}, []string{"^-!", "---^-----!"}},
	} {
		expectShared(t, name, c, operators.Share[string])
	}
	expectShared(t, "consumers that retry share the next run too", sharing{"--a-#", []consumer{
		{"", "--a---a---a-#"}, {"---^", "------a---a-#"},
	}, []string{"^---!", "----^---!", "--------^---!"}}, func(s strs) strs { return operators.Share(s).Retry(2) })
}

func TestShareN_Marbles(t *testing.T) {
	expectShared(t, "it waits for all to come", sharing{"a--b|", []consumer{
		{"", "---a--b|"}, {"--^", "---a--b|"}, {"---^", "---a--b|"}, {"----^", "------b|"},
	}, []string{"---^---!"}}, func(s strs) strs { return operators.ShareN(s, 3) })
	for name, c := range map[string]sharing{
		"one that leaves before the start does not count": {"a-|", []consumer{
			{"-!", "--"}, {"--^", "----a-|"}, {"----^", "----a-|"},
		}, []string{"----^-!"}},
		"each run waits anew": {"a-|", []consumer{
			{"", "--a-|"}, {"--^", "--a-|"}, {"------^", "--------a-|"}, {"--------^", "--------a-|"},
		}, []string{"--^-!", "--------^-!"}},
	} {
		expectShared(t, name, c, func(s strs) strs { return operators.ShareN(s, 2) })
	}
}

func TestShare_ConsumersLeave(t *testing.T) {
	session(t, "all stop, and the next one runs it again, when the old run has returned", func(s *streamtest.Session) {
		src := streamtest.Probe(s, windingDown(cold(s, "-a-b-|"), 5*ms))
		shared := operators.Share(src.Stream)
		one, next := streamtest.Expect(s, shared.Take(1)), streamtest.ExpectDuring(s, shared, "--^")
		one.ToBe("-a----|")
		next.ToBe("-------a-b-|")
		src.Subscriptions("^-----!", "------^----!")
	})
	bubble(t, "one is cancelled while it has a value in hand", func(t *testing.T) {
		s := operators.Share(fromScript("10a 20b 30c 40|"))
		consumers(
			after(t, cancelAt(t, 15*ms), 0, s, func(string) bool { time.Sleep(7 * ms); return true }, "10a 17!"),
			after(t, t.Context(), 5*ms, s, yes, "5a 15b 25c 35|"),
		)
	})
	for name, leave := range map[string]func(s strs, ctx context.Context) bool{
		"panics": func(s strs, ctx context.Context) bool {
			return recovered(func() { _ = s(ctx, func(string) bool { panic("mine") }) }) == "mine"
		},
		"exits": func(s strs, ctx context.Context) bool {
			return exits(func() { _ = s(ctx, func(string) bool { runtime.Goexit(); return true }) })
		},
	} {
		session(t, "one "+name+", the other goes on", func(s *streamtest.Session) {
			shared := operators.Share(cold(s, "-a-b-c|"))
			other := streamtest.Expect(s, shared)
			if !leave(shared, s.Context()) || s.Elapsed() != ms {
				s.T().Errorf("it has not left, or at %v", s.Elapsed())
			}
			other.ToBe("-a-b-c|")
		})
	}
}

func TestShare_SlowestConsumerSlowsAll(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var made atomic.Int64
		s := operators.ShareN(counted(3, &made), 2)
		slow := func(n int) bool {
			time.Sleep(10 * ms)
			if made.Load() != int64(n) {
				t.Errorf("%d made while %d is in hand", made.Load(), n)
			}
			return true
		}
		consumers(
			after(t, t.Context(), 0, s, slow, "01 102 203 30|"),
			after(t, t.Context(), 0, s, func(int) bool { return true }, "01 102 203 30|"),
		)
	})
	bubble(t, "a Buffer gives one room", func(t *testing.T) {
		s := operators.ShareN(stream.Of(1, 2, 3), 2)
		consumers(
			after(t, t.Context(), 0, s.Buffer(3), func(int) bool { time.Sleep(10 * ms); return true }, "01 102 203 30|"),
			after(t, t.Context(), 0, s, func(int) bool { return true }, "01 02 03 0|"),
		)
	})
	t.Run("and lets a stream be zipped with itself", func(t *testing.T) {
		s := operators.ShareN(stream.Of(1, 2, 3), 2)
		expectValues(t, operators.Zip(s.Buffer(1), s.Skip(1)), []operators.Pair[int, int]{{1, 2}, {2, 3}}, nil)
	})
}

func TestShare_ContextOfTheRun(t *testing.T) {
	type key struct{}
	bubble(t, "has the values of the one that started it, not its end", func(t *testing.T) {
		first := context.WithValue(cancelAt(t, 15*ms), key{}, "first")
		src := stream.Stream[string](func(ctx context.Context, yield func(string) bool) error {
			if ctx.Value(key{}) != "first" {
				t.Errorf("the value is %v", ctx.Value(key{}))
			}
			if _, has := ctx.Deadline(); has {
				t.Error("there is a deadline")
			}
			return fromScript("10a 20b 30|")(ctx, yield)
		})
		s := operators.Share(src)
		consumers(
			after(t, first, 0, s, yes, "10a 15!"),
			after(t, t.Context(), 5*ms, s, yes, "5a 15b 25|"),
		)
	})
	bubble(t, "has ended when the source hears that the last one has stopped", func(t *testing.T) {
		s := operators.Share(func(ctx context.Context, yield func(int) bool) error {
			if yield(1) || ctx.Err() == nil {
				t.Error("the context lasts")
			}
			return nil
		})
		for range 2000 {
			if err := s(t.Context(), func(int) bool { return false }); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestShare_PanicsOfTheSource(t *testing.T) {
	bubble(t, "are raised in each consumer, and the next run is a new one", func(t *testing.T) {
		runs := 0
		s := operators.Share(stream.Defer(func(context.Context) strs {
			if runs++; runs > 1 {
				return stream.Of("b")
			}
			return stream.Of("a").Delay(ms).Concat(stream.Defer(func(context.Context) strs { panic(errBoom) }))
		}))
		one := func() {
			v := recovered(func() { _, _ = s.Collect(t.Context()) })
			if err, ok := v.(error); !ok || !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "share_test.go") {
				t.Errorf("%v", v)
			}
		}
		consumers(one, one)
		expectValues(t, s, []string{"b"}, nil)
	})
}

// Consumers that come and go at random see the values of a run in order, without a gap, and nothing is left behind.
func TestShare_Crowd(t *testing.T) {
	s := operators.Share(stream.Range(0, 300))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for round := range 30 {
				ctx, cancel := context.WithCancelCause(t.Context())
				var got []int
				stop := (i*31 + round*17) % 100
				err := s(ctx, func(v int) bool {
					got = append(got, v)
					if len(got) == stop && round%2 == 0 {
						cancel(errCause)
					}
					return len(got) < stop || round%2 == 0
				})
				if err != nil && !errors.Is(err, errCause) {
					t.Error(err)
				}
				for k := range len(got) - 1 {
					if got[k+1] != got[k]+1 {
						t.Errorf("%d after %d", got[k+1], got[k])
					}
				}
				if !slices.IsSorted(got) {
					t.Error(got)
				}
				cancel(nil)
			}
		})
	}
	all.Wait()
}

// The end of a consumer's context, and that of the run, come through after any number of values, to each of two
// consumers.
func TestShare_EndsAfterAnyNumberOfValues(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		for n := range 20 {
			for _, busy := range []time.Duration{0, time.Minute} {
				src := ints(func(ctx context.Context, yield func(int) bool) error {
					for v := range n {
						yield(v)
					}
					select {
					case <-time.After(time.Hour):
						return errBoom
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				})
				shared := operators.ShareN(src, 2)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(errCause) })
				start, got := time.Now(), 0
				first, other := make(chan error, 1), 0
				var left time.Duration
				go func() {
					err := shared.ForEach(ctx, func(int) {
						if got++; got == n {
							time.Sleep(busy)
						}
					})
					left = time.Since(start)
					first <- err
				}()
				err := shared.ForEach(t.Context(), func(int) { other++ })
				if err != errBoom || other != n {
					t.Errorf("%d of %d values, %v", other, n, err)
				}
				if at := time.Since(start); at != time.Hour && (busy == 0 || n == 0 || at != time.Hour+busy) {
					t.Errorf("%d values: it ended after %v", n, at)
				}
				want := time.Second
				if n > 0 {
					want = max(want, busy)
				}
				if err := <-first; got != n || left != want || !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) {
					t.Errorf("%d of %d values, %v after %v, want the cause after %v", got, n, err, left, want)
				}
				cancel(nil)
			}
		}
	})
}

// A source that yields when no consumer is left gets false at once, and is waited for.
func TestShare_ASourceThatYieldsAfterTheEnd(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var got []bool
		rude := func(_ context.Context, yield func(int) bool) error {
			for n := range 3 {
				got = append(got, yield(n))
				time.Sleep(time.Second)
			}
			return nil
		}
		err := operators.Share(rude).Take(1).ForEach(t.Context(), func(int) {})
		if err != nil || !slices.Equal(got, []bool{false, false, false}) {
			t.Errorf("%v; yield has returned %v", err, got)
		}
	})
}

// The context of a shared source ends when the source has ended, although a consumer still works on replayed values.
func TestShareReplay_TheContextOfTheSource(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var seen context.Context
		s := operators.ShareReplay(func(ctx context.Context, yield func(int) bool) error {
			seen = ctx
			yield(1)
			time.Sleep(time.Second)
			return nil
		}, 1)
		consumers(
			func() { _ = s.ForEach(t.Context(), func(int) {}) },
			func() {
				time.Sleep(time.Second / 2)
				_ = s.ForEach(t.Context(), func(int) {
					time.Sleep(time.Hour)
					if seen.Err() == nil {
						t.Error("the source's context has not ended")
					}
				})
			},
		)
	})
}

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
		expectBoom(t, func() { _, _ = s.Collect(t.Context()) })
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
