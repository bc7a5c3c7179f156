package operators_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// several is what three streams do, and what comes of them.
type several struct {
	a, b, c, want string
	values        map[string]string
	subs          [3]string
}

type ofThree func(a, b, c strs) strs

// expectSeveral runs the operator on three streams, in each of the forms it has.
func expectSeveral(t *testing.T, cases map[string]several, forms map[string]ofThree) {
	t.Helper()
	for form, apply := range forms {
		for name, c := range cases {
			session(t, form+"/"+name, func(s *streamtest.Session) {
				var in [3]*streamtest.Source[string]
				for i, diagram := range []string{c.a, c.b, c.c} {
					in[i] = streamtest.Cold[string](s, diagram)
				}
				streamtest.Expect(s, apply(in[0].Stream, in[1].Stream, in[2].Stream)).ToBeWith(c.want, c.values)
				for i, subs := range c.subs {
					in[i].Subscriptions(subs)
				}
			})
		}
	}
}

// pairs are the letters for what join makes of values.
var pairs = map[string]string{"A": "ax"}

func join3(a, b, c string) string { return a + b + c }

// joined is the stream of the slices, each as one text.
func joined(s stream.Stream[[]string]) strs {
	return operators.Map(s, func(v []string) string { return strings.Join(v, "") })
}

func TestZip_Three(t *testing.T) {
	x := map[string]string{"A": "apx", "B": "bqy", "C": "crz"}
	expectSeveral(t, map[string]several{
		"each row waits for its last value":        {"-a-b-----|", "--p---q--|", "---x---y-|", "---A---B-|", x, [3]string{"^--------!", "^--------!", "^--------!"}},
		"in whatever order they come":              {"---a-b---|", "-p---q---|", "--x--y---|", "---A-B---|", x, [3]string{"^--------!", "^--------!", "^--------!"}},
		"the first one ends, the others do not":    {"-a-|", "-p----", "-x----", "-A-|", x, [3]string{"^--!", "^--!", "^--!"}},
		"the second one ends":                      {"-a----", "-p-|", "-x----", "-A-|", x, [3]string{"^--!", "^--!", "^--!"}},
		"the third one ends":                       {"-a----", "-p----", "-x-|", "-A-|", x, [3]string{"^--!", "^--!", "^--!"}},
		"one that is ahead ends after its values":  {"abc|", "--p-q-r-", "---x-y-z---", "---A-B-(C|)", x, [3]string{"^------!", "^------!", "^------!"}},
		"the first one fails":                      {"-a-#", "-p----", "-x----", "-A-#", x, [3]string{"^--!", "^--!", "^--!"}},
		"the second one fails":                     {"-a----", "-p-#", "-x----", "-A-#", x, [3]string{"^--!", "^--!", "^--!"}},
		"the third one fails, with values waiting": {"-ab---", "-pq---", "-x-#", "-A-#", x, [3]string{"^--!", "^--!", "^--!"}},
	}, map[string]ofThree{
		"ZipWith3": func(a, b, c strs) strs { return operators.ZipWith3(a, b, c, join3) },
		"ZipSlice": func(a, b, c strs) strs { return joined(operators.ZipSlice(a, b, c)) },
	})
}

func TestCombineLatest_Three(t *testing.T) {
	x := map[string]string{"A": "apx", "B": "bpx", "C": "bqx", "D": "bqy"}
	expectSeveral(t, map[string]several{
		"each value with the others' last":    {"-a----b-----|", "--p-----q---|", "---x------y-|", "---A--B-C-D-|", x, [3]string{"^-----------!", "^-----------!", "^-----------!"}},
		"the last one to have a value begins": {"---a--b-----|", "-p------q---|", "--x-------y-|", "---A--B-C-D-|", x, [3]string{"^-----------!", "^-----------!", "^-----------!"}},
		"what comes before that is replaced":  {"zyxa------|", "--p-------|", "------x---|", "------A---|", x, [3]string{"^---------!", "^---------!", "^---------!"}},
		"one that has ended keeps its value":  {"-a----b----|", "-p|", "--x-|", "--A---B----|", x, [3]string{"^----------!", "^-!", "^---!"}},
		"it ends with the last one":           {"-a|", "--p|", "---x--|", "---A--|", x, [3]string{"^-!", "^--!", "^-----!"}},
		"the first one ends without a value":  {"--|", "-p----", "-x----", "--|", nil, [3]string{"^-!", "^-!", "^-!"}},
		"the second one does":                 {"-a----", "--|", "-x----", "--|", nil, [3]string{"^-!", "^-!", "^-!"}},
		"the third one does":                  {"-a----", "-p----", "--|", "--|", nil, [3]string{"^-!", "^-!", "^-!"}},
		"the third one, when others are over": {"-a|", "-p|", "-----|", "-----|", nil, [3]string{"^-!", "^-!", "^----!"}},
		"the first one fails":                 {"-a-#", "-p----", "-x----", "-A-#", x, [3]string{"^--!", "^--!", "^--!"}},
		"the third one fails":                 {"-a----", "-p----", "-x-#", "-A-#", x, [3]string{"^--!", "^--!", "^--!"}},
	}, map[string]ofThree{
		"CombineLatest3":     func(a, b, c strs) strs { return operators.CombineLatest3(a, b, c, join3) },
		"CombineLatestSlice": func(a, b, c strs) strs { return joined(operators.CombineLatestSlice(a, b, c)) },
	})
}

// Of how many streams it may be, and one stream may be there twice.
func TestSeveral_OfAnyNumber(t *testing.T) {
	for name, of := range map[string]func(...strs) stream.Stream[[]string]{
		"ZipSlice": operators.ZipSlice[string], "CombineLatestSlice": operators.CombineLatestSlice[string],
	} {
		bubble(t, name, func(t *testing.T) {
			expectValues(t, joined(of()), nil, nil)
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errCause)
			if _, err := of().Collect(ctx); !errors.Is(err, errCause) {
				t.Error(err)
			}
			expectValues(t, joined(of(stream.Of("a", "b"))), []string{"a", "b"}, nil)
			twice := stream.Of("a")
			expectValues(t, joined(of(twice, twice)), []string{"aa"}, nil)
			many := make([]strs, 100)
			for i := range many {
				many[i] = stream.Of(fmt.Sprint("v", i)).Delay(time.Duration(i) * ms)
			}
			made := of(many...)
			clear(many)
			got, err := made.Collect(t.Context())
			if err != nil || len(got) != 1 || len(got[0]) != 100 || got[0][0] != "v0" || got[0][99] != "v99" {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// The consumer may keep and change what it gets.
func TestSeveral_SlicesOfTheConsumer(t *testing.T) {
	for name, s := range map[string]stream.Stream[[]string]{
		"ZipSlice":           operators.ZipSlice(stream.Of("a", "b"), stream.Of("x", "y")),
		"CombineLatestSlice": operators.CombineLatestSlice(stream.Of("a", "b").Delay(2*ms), stream.Of("x")),
	} {
		bubble(t, name, func(t *testing.T) {
			var kept [][]string
			_ = s.ForEach(t.Context(), func(v []string) { v[1] += "!"; kept = append(kept, v) })
			if len(kept) != 2 || kept[0][0] != "a" || kept[1][0] != "b" || strings.Count(kept[1][1], "!") != 1 {
				t.Error(kept)
			}
		})
	}
}

// A stream that ignores its context delivers no value after the other one has ended, and its error does not count.
func TestTheOtherEndsAStreamThatIgnoresItsContext(t *testing.T) {
	deaf := strs(func(_ context.Context, yield func(string) bool) error {
		for v := 'a'; v < 'f'; v++ {
			time.Sleep(2 * ms)
			if !yield(string(v)) {
				break
			}
		}
		return errBoom
	})
	for name, c := range map[string]struct {
		operator    func(a, b strs) strs
		other, want string
	}{
		"TakeUntil":      {operators.TakeUntil[string, string], "-----x", "--a-b-|"},
		"WithLatestFrom": {func(s, other strs) strs { return operators.WithLatestFrom(s, other, first) }, "x----#", "--a-b-#"},
		"Sample":         {func(sampler, s strs) strs { return operators.Sample(s, sampler) }, "-x-y-(z|)", "--x-y-|"},
	} {
		session(t, name, func(s *streamtest.Session) {
			streamtest.Expect(s, c.operator(deaf, cold(s, c.other))).ToBe(c.want)
		})
	}
}

func TestTakeUntil_NoValueAfterStop(t *testing.T) {
	bubble(t, "while the consumer is busy", func(t *testing.T) {
		expectBusy(t, operators.TakeUntil(fromScript("10a 20b 30c"), fromScript("25x")), 10*ms, "10a 20b 30|")
	})
	session(t, "stop is cancelled at its first value, and waited for", func(s *streamtest.Session) {
		slow := cold(s, "--x-y").OnEnd(func(error) { time.Sleep(3 * ms) })
		streamtest.Expect(s, operators.TakeUntil(cold(s, "-a"), slow)).ToBe("-a---|")
	})
	bubble(t, "cancelled while the consumer works, after stop has spoken: the error tells so", func(t *testing.T) {
		for stop, alsoBoom := range map[string]bool{"20x": false, "20|": false, "20#": true} {
			ctx := cancelAt(t, 30*ms)
			err := operators.TakeUntil(fromScript("10a 50b"), fromScript(stop)).ForEach(ctx, func(string) { time.Sleep(30 * ms) })
			if !errors.Is(err, errCause) || errors.Is(err, errBoom) != alsoBoom {
				t.Errorf("stop %s: got %v", stop, err)
			}
		}
	})
	bubble(t, "a panic of stop ends it", func(t *testing.T) {
		stop := stream.Timer(10 * ms).Tap(func(time.Time) { panic(errBoom) })
		expectBoom(t, func() { _, _ = operators.TakeUntil(stream.Never[int](), stop).Collect(t.Context()) })
	})
}

func TestCombineLatest(t *testing.T) {
	session(t, "stopped at a value of a, or of b", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.CombineLatest(cold(s, "-a-b"), cold(s, "--x"), join).Take(1)).ToBeWith("--(A|)", pairs)
		streamtest.Expect(s, operators.CombineLatest(cold(s, "--a"), cold(s, "-x"), join).Take(1)).ToBeWith("--(A|)", pairs)
	})
	bubble(t, "a slow consumer slows both, and no combination is dropped", func(t *testing.T) {
		n := 0
		err := operators.CombineLatest(stream.Range(1, 10), stream.Range(1, 10), add).ForEach(t.Context(), func(v int) {
			n++
			time.Sleep(time.Second)
		})
		if err != nil || n < 10 || n > 19 {
			t.Errorf("%d combinations, %v", n, err)
		}
	})
}

func TestWithLatestFrom(t *testing.T) {
	withLatest := func(s, other strs) strs { return operators.WithLatestFrom(s, other, join) }
	session(t, "the other fails at its first value, for which s waits", func(s *streamtest.Session) {
		streamtest.Expect(s, withLatest(cold(s, "-a----b"), cold(s, "---(x#)"))).ToBeWith("---(A#)", pairs)
	})
	for name, diagram := range map[string]string{"": "---a", ", and would end": "---a|"} {
		session(t, "cancelled while s is held"+name, func(s *streamtest.Session) {
			expectCancelled(s, withLatest(cold(s, diagram), stream.Never[string]()), "----- 1s !", "----- 1s -")
		})
	}
	session(t, "cancelled while s is held, which ignores it", func(s *streamtest.Session) {
		rude := func(_ context.Context, yield func(string) bool) error { yield("a"); return nil }
		expectCancelled(s, withLatest(rude, stream.Never[string]()), "-----!", "------")
	})
	bubble(t, "none of many values is lost when the other has one at once", func(t *testing.T) {
		n := 0
		s := operators.WithLatestFrom(stream.Range(0, 100_000), stream.Of("x").Concat(stream.Never[string]()), func(v int, _ string) int { return v })
		if err := s.ForEach(t.Context(), func(v int) {
			if v != n {
				t.Fatalf("%d, want %d", v, n)
			}
			n++
		}); err != nil || n != 100_000 {
			t.Error(n, err)
		}
	})
	bubble(t, "the other never waits", func(t *testing.T) {
		expectBusy(t, operators.WithLatestFrom(fromScript("20a 21b 22|"), fromScript("10x 50y 60z 70|"), join), 100*ms, "20ax 120bz 220|")
	})
}

// Whichever of the two comes first, neither waits for the other forever, and the values that come to s are all
// delivered.
func TestWithLatestFrom_OfOneShare(t *testing.T) {
	diagonal := func(a, b int) [2]int { return [2]int{a, b} }
	shares := map[string]func(ints) ints{
		"Share":     operators.Share[int],
		"ShareN(2)": func(s ints) ints { return operators.ShareN(s, 2) },
	}
	for name, share := range shares {
		bubble(t, name+", at once", func(t *testing.T) {
			for range 300 {
				s := share(stream.Range(0, 20))
				got, err := operators.WithLatestFrom(s, s, diagonal).Collect(t.Context())
				if err != nil || name != "Share" && len(got) != 20 { // of a Share, s may come when the run is ending
					t.Fatal(got, err)
				}
				for i := 1; i < len(got); i++ {
					if got[i][0] != got[i-1][0]+1 {
						t.Fatal(got)
					}
				}
			}
		})
		session(t, name+", in time", func(s *streamtest.Session) {
			shared := share(stream.Of(1, 2, 3).Delay(2 * ms))
			streamtest.Expect(s, operators.WithLatestFrom(shared, shared, func(a, _ int) int { return a })).ToBe("--1-2-(3|)")
		})
	}
	bubble(t, "in one another", func(t *testing.T) {
		for range 100 {
			s := operators.Share(stream.Range(0, 5))
			inner := operators.WithLatestFrom(s, s, add)
			if _, err := operators.WithLatestFrom(s, inner, add).Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
	session(t, "the other comes late", func(s *streamtest.Session) {
		shared := operators.Share(stream.Range(0, 3))
		other := operators.ConcatMap(stream.Timer(3*ms), func(time.Time) ints { return shared })
		streamtest.Expect(s, operators.WithLatestFrom(shared, other, diagonal).Take(1)).ToBeWith("---(D|)", map[string][2]int{"D": {0, 0}})
	})
	bubble(t, "a value that is not held is not given twice", func(t *testing.T) {
		s := operators.Share(stream.Range(0, 4))
		var seen []int
		other := stream.Of(9).Concat(operators.ConcatMap(stream.Timer(10*ms), func(time.Time) ints { return s.Take(1).Repeat(3) }))
		other = other.Tap(func(v int) { seen = append(seen, v) })
		err := operators.WithLatestFrom(s, other, diagonal).ForEach(t.Context(), func([2]int) { time.Sleep(15 * ms) })
		if err != nil || !slices.Equal(seen, []int{9, 1, 2, 3}) {
			t.Error(seen, err)
		}
	})
	session(t, "with a Buffer it may drop the first", func(s *streamtest.Session) {
		shared := operators.Share(cold(s, "-a-b---c|"))
		streamtest.Expect(s, operators.WithLatestFrom(shared.Buffer(1), shared.Skip(1), first)).ToBe("---(ab)c|")
	})
}

func TestSample(t *testing.T) {
	session(t, "every 3 ms", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.Sample(cold(s, "-ab----c--|"), stream.Interval(3*ms))).ToBe("---b-----c|")
	})
	bubble(t, "s never waits for the consumer", func(t *testing.T) {
		expectBusy(t, operators.Sample(fromScript("10a 30b 50c 70d 200e 500|"), stream.Interval(20*ms)), 100*ms, "20a 120d 220e 500|")
	})
}

func TestRace(t *testing.T) {
	t.Run("of none is empty", func(t *testing.T) { expectValues(t, operators.Race[int](), nil, nil) })
	session(t, "of streams that never yield, cancelled", func(s *streamtest.Session) {
		expectCancelled(s, operators.Race(cold(s, "-"), cold(s, "-")), "-----!", "------")
	})
	t.Run("the argument slice is copied", func(t *testing.T) {
		s := []stream.Stream[int]{stream.Of(1), stream.Never[int]()}
		race := operators.Race(s...)
		s[0], s[1] = nil, nil
		expectValues(t, race, []int{1}, nil)
	})
}

func TestRace_LosersHaveReturnedBeforeTheFirstValue(t *testing.T) {
	session(t, "they wind down side by side", func(s *streamtest.Session) {
		loser := windingDown(cold(s, "---------z"), 2*ms)
		streamtest.Expect(s, operators.Race(loser, cold(s, "--x--y|"), loser, loser)).ToBe("----xy|")
	})
	session(t, "also when the end wins", func(s *streamtest.Session) {
		loser := windingDown(cold(s, "---------z"), 2*ms)
		streamtest.Expect(s, operators.Race(loser, cold(s, "--|"), loser)).ToBe("----|")
	})
	bubble(t, "a loser's panic is raised", func(t *testing.T) {
		bad := stream.Stream[string](func(ctx context.Context, _ func(string) bool) error {
			<-ctx.Done()
			panic(errBoom)
		})
		expectBoom(t, func() { _, _ = operators.Race(bad, stream.Of("x").Delay(ms)).Collect(t.Context()) })
	})
}

// combined are the operators that end when one of their streams does. They get two streams.
var combined = map[string]func(a, b strs) strs{
	"ZipWith":              func(a, b strs) strs { return operators.ZipWith(a, b, join) },
	"ZipSlice":             func(a, b strs) strs { return joined(operators.ZipSlice(a, b)) },
	"ZipWith3":             func(a, b strs) strs { return operators.ZipWith3(a, stream.Of("").Repeat(9), b, join3) },
	"ZipWith3, the second": func(a, b strs) strs { return operators.ZipWith3(a, b, stream.Of("").Repeat(9), join3) },
	"CombineLatest":        func(a, b strs) strs { return operators.CombineLatest(a, b, join) },
	"CombineLatest3":       func(a, b strs) strs { return operators.CombineLatest3(a, stream.Never[string](), b, join3) },
	"CombineLatestSlice":   func(a, b strs) strs { return joined(operators.CombineLatestSlice(a, b)) },
}

// An end does not hide an error of another stream, but the error with which a stream obeys the cancel does not count.
func TestEndAtOnce_ErrorOfAnotherStream(t *testing.T) {
	// deaf ends after 3 ms, whatever its context says.
	deaf := func(err error) strs {
		return func(context.Context, func(string) bool) error { time.Sleep(3 * ms); return err }
	}
	for name, apply := range combined {
		session(t, name, func(s *streamtest.Session) {
			for _, c := range []struct {
				other strs
				want  string
			}{
				{cold(s, "-"), "--|"},
				{waitingForRetry, "--|"},
				{deaf(nil), "---|"},
				{deaf(errBoom), "---#"},
				{deaf(context.Canceled), "---|"},
				{deaf(errors.Join(errBoom, context.Canceled)), "---|"},
			} {
				streamtest.Expect(s, apply(cold(s, "--|"), c.other)).Error(errBoom).ToBe(c.want)
				streamtest.Expect(s, apply(c.other, cold(s, "--|"))).Error(errBoom).ToBe(c.want)
			}
		})
	}
}

// Of an end and an error at one instant either may be the result, and nothing else.
func TestEndAtOnce_EndAndErrorAtOneInstant(t *testing.T) {
	end, bad := stream.Empty[string](), stream.Fail[string](errBoom)
	for name, apply := range combined {
		t.Run(name, func(t *testing.T) {
			errs := 0
			for range 200 {
				for _, s := range []strs{apply(end, bad), apply(bad, end), apply(stream.Of("a"), stream.Of("b").MustNotEnd(errBoom))} {
					_, err := s.Collect(t.Context())
					if err != nil {
						if errs++; err != errBoom {
							t.Fatal(err)
						}
					}
				}
			}
			if errs < 300 {
				t.Errorf("the error was hidden in %d of 600 runs", 600-errs)
			}
		})
	}
	t.Run("a panic is never hidden", func(t *testing.T) {
		for range 200 {
			crash := strs(func(ctx context.Context, _ func(string) bool) error { <-ctx.Done(); panic(errBoom) })
			if recovered(func() { _, _ = operators.ZipSlice(end, crash).Collect(t.Context()) }) == nil {
				t.Fatal("no panic")
			}
		}
	})
}
