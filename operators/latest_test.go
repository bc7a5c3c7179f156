package operators_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestCombineLatest(t *testing.T) {
	expectTwo(t, map[string]two{
		"each value with the other's last":  {"-a--b---|", "--xy--|", "--ADB---|", "^-------!", "^-----!"},
		"it goes on when one has ended":     {"-a|", "---xy|", "---AD|", "^-!", "^----!"},
		"b ended without a value":           {"-a-b", "--|", "--|", "^-!", "^-!"},
		"a ended without a value":           {"--|", "-x-y", "--|", "^-!", "^-!"},
		"b ended without a value, a before": {"-a|", "---|", "---|", "^-!", "^--!"},
		"both ended without a value":        {"--|", "--|", "--|", "^-!", "^-!"},
		"a fails":                           {"-a-#", "--x", "--A#", "^--!", "^--!"},
		"b fails":                           {"-a", "--x#", "--A#", "^--!", "^--!"},
		"b fails before its first value":    {"-a", "--#", "--#", "^-!", "^-!"},
		"a ends, then b fails":              {"-a|", "---x#", "---A#", "^-!", "^---!"},
	}, pairs, map[string]ofTwo{"CombineLatest": func(a, b strs) strs { return operators.CombineLatest(a, b, join) }})
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
	expectTwo(t, map[string]two{
		"each value of s with the other's last": {"---b--c|", "--x-yz", "---E--C|", "^------!", "^------!"},
		"the first value is held":               {"-abc-----d|", "----x", "----(AEF)G|", "^---------!", "^---------!"},
		"and the end behind it":                 {"-a|", "---x", "---(A|)", "^--!", "^--!"},
		"the other's end changes nothing":       {"-a-b--c|", "--x-|", "--AE--F|", "^------!", "^---!"},
		"the other is empty":                    {"-a-b---|", "--|", "-------|", "^------!", "^-!"},
		"the other is empty, s waits for it":    {"-a|", "---|", "---|", "^--!", "^--!"},
		"the other fails while s is held":       {"-a|", "---#", "---#", "^--!", "^--!"},
		"the other never has a value":           {"-------|", "-", "-------|", "^------!", "^------!"},
		"s is empty":                            {"-------|", "--x", "-------|", "^------!", "^------!"},
		"s fails":                               {"---b#", "--x", "---E#", "^---!", "^---!"},
		"s fails before its first value":        {"-#", "--x", "-#", "^!", "^!"},
		"the other fails":                       {"---b--c", "--x-#", "---E#", "^---!", "^---!"},
		"the other begins at once":              {"---a|", "x", "---A|", "^---!", "^---!"},
	}, pairs, map[string]ofTwo{"WithLatestFrom": withLatest})
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
		got := playWith(t.Context(), operators.WithLatestFrom(fromScript("20a 21b 22|"), fromScript("10x 50y 60z 70|"), join), func(string) bool {
			time.Sleep(100 * ms)
			return true
		})
		if want := "20ax 120bz 220|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
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
	expectTwo(t, map[string]two{
		"the last value, once":            {"-ab----c--|", "---x--y--z", "---b-----c|", "^---------!", "^---------!"},
		"what was not sampled is dropped": {"-a|", "---x", "--|", "^-!", "^-!"},
		"the sampler ends":                {"-a--b", "--x|", "--a|", "^--!", "^--!"},
		"nothing to sample":               {"-", "-x|", "--|", "^-!", "^-!"},
		"s is empty":                      {"--|", "-x-y", "--|", "^-!", "^-!"},
		"s fails":                         {"-a--#", "--x", "--a-#", "^---!", "^---!"},
		"the sampler fails":               {"-a", "--x-#", "--a-#", "^---!", "^---!"},
	}, nil, map[string]ofTwo{"Sample": operators.Sample[string, string]})
	session(t, "every 3 ms", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.Sample(cold(s, "-ab----c--|"), stream.Interval(3*ms))).ToBe("---b-----c|")
	})
	bubble(t, "s never waits for the consumer", func(t *testing.T) {
		got := playWith(t.Context(), operators.Sample(fromScript("10a 30b 50c 70d 200e 500|"), stream.Interval(20*ms)), func(string) bool {
			time.Sleep(100 * ms)
			return true
		})
		if want := "20a 120d 220e 500|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
