package operators_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

type strs = stream.Stream[string]

// series is a key: that of a, b, c …, that of p, q … and that of x, y, z.
func series(v string) byte {
	switch {
	case v < "p":
		return 'a'
	case v < "x":
		return 'p'
	}
	return 'x'
}

func TestGroupBy_GroupsThatAreNotConsumed(t *testing.T) {
	for name, f := range map[string]func(byte, strs) strs{
		"never run, ends at once":   func(byte, strs) strs { return stream.Empty[string]() },
		"run under a stopped Take":  func(_ byte, group strs) strs { return group.Take(0) },
		"run and left without once": func(_ byte, group strs) strs { return operators.TakeUntil(stream.Empty[string](), group) },
	} {
		session(t, name, func(s *streamtest.Session) {
			streamtest.Expect(s, operators.GroupBy(cold(s, "-apb--|"), series, f)).ToBe("------|")
		})
	}
	session(t, "one that ends later holds up the source until it does", func(s *streamtest.Session) {
		later := cold(s, "----(z|)")
		f := func(byte, strs) strs { return later }
		streamtest.Expect(s, operators.GroupBy(cold(s, "-ap---|"), series, f)).ToBe("-----z---(z|)")
	})
	session(t, "one that never ends is ended by the cancel", func(s *streamtest.Session) {
		f := func(byte, strs) strs { return stream.Never[string]() }
		expectCancelled(s, operators.GroupBy(cold(s, "-ap"), series, f), "-----!", "------")
	})
}

func TestGroupBy_ClosedGroupsOpenAgain(t *testing.T) {
	session(t, "after a Take", func(s *streamtest.Session) {
		opened := 0
		f := func(key byte, group strs) strs { opened++; return group.Take(2) }
		streamtest.Expect(s, operators.GroupBy(cold(s, "-abcde|"), series, f)).ToBe("-abcde|")
		if opened != 3 {
			s.T().Errorf("%d groups opened", opened)
		}
	})
	session(t, "while the old one's stream still runs", func(s *streamtest.Session) {
		rest := cold(s, "----------(z|)")
		f := func(key byte, group strs) strs { return group.Take(1).Concat(rest) }
		streamtest.Expect(s, operators.GroupBy(cold(s, "-ab|"), series, f)).ToBe("-ab--------z(z|)")
	})
	session(t, "after a silence", func(s *streamtest.Session) {
		f := func(key byte, group strs) strs {
			return group.Timeout(5 * ms).Catch(func(error) strs { return stream.Of("N") })
		}
		streamtest.Expect(s, operators.GroupBy(cold(s, "-ab-------c|"), series, f)).ToBe("-ab----N--c|")
	})
	session(t, "while a value waits for one that closes without it", func(s *streamtest.Session) {
		// The group takes one value, is busy with it for 5 ms and closes: the second one opens a new group.
		f := func(key byte, group strs) strs { return group.Delay(5 * ms).Take(1) }
		streamtest.Expect(s, operators.GroupBy(cold(s, "-abc----------------|"), series, f)).ToBe("------a----b----c---|")
	})
}

// A value finds its group closed while f's stream still runs: f's second stream of the key is nil, which is an error.
func TestGroupBy_ClosedGroupOpensAgainWithNil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		all := operators.GroupBy(stream.Interval(time.Second), func(time.Time) int { return 0 }, func(_ int, group stream.Stream[time.Time]) stream.Stream[time.Time] {
			if calls++; calls > 1 {
				return nil
			}
			return group.Timeout(time.Second / 2).Catch(func(error) stream.Stream[time.Time] { return stream.Never[time.Time]() })
		})
		start := time.Now()
		err := all.ForEach(t.Context(), func(time.Time) {})
		if err == nil || err.Error() != "operators: GroupBy: f returned a nil stream" || time.Since(start) != 2*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func TestGroupBy_RunTwice(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := func(key byte, group strs) strs { return group.Take(1).Concat(group) }
		_, err := operators.GroupBy(stream.Of("a", "b"), series, f).Collect(t.Context())
		if !errors.Is(err, stream.ErrNotRestartable) {
			t.Error(err)
		}
	})
}

// What ReactiveX does with groups, to hand them out, ends in an error here, and not in one who waits forever.
func TestGroupBy_HandedOut(t *testing.T) {
	const late = "# operators: GroupBy: a group is run once, while f's stream runs: stream: the source cannot be run a second time"
	bubble(t, "to FlatMap, with f's stream over at once", func(t *testing.T) {
		groups := operators.GroupBy(fromScript("10a 20p 30b 40|"), series, func(_ byte, group strs) stream.Stream[strs] { return stream.Of(group) })
		s := operators.FlatMap(groups, math.MaxInt, func(group strs) strs { return group.Filter(func(string) bool { return false }) })
		expect(t, s, "10"+late)
	})
	for name, c := range map[string]struct{ source, want string }{
		"to FlatMap, with f's stream over later":        {"10a 20p 30b 70c", "10a 20p 30b 60" + late},
		"to one that goes on when the source has ended": {"10a 20p 30b 40|", "10a 20p 30b 70|"},
	} {
		bubble(t, name, func(t *testing.T) {
			groups := operators.GroupBy(fromScript(c.source), series, func(_ byte, group strs) stream.Stream[strs] {
				return stream.Of(group).Concat(operators.Map(fromScript("50|"), func(string) strs { return nil }))
			})
			expect(t, operators.FlatMap(groups, math.MaxInt, func(group strs) strs { return group }), c.want)
		})
	}
	bubble(t, "to one whose context goes on when all is cancelled", func(t *testing.T) {
		ended := make(chan string, 1)
		f := func(_ byte, group strs) strs {
			go func() { ended <- play(context.Background(), group) }()
			return stream.Never[string]()
		}
		if got := play(cancelAt(t, 30*ms), operators.GroupBy(fromScript("10a 20b"), series, f)); got != "30!" {
			t.Error(got)
		}
		if got, want := <-ended, "0a 10b 20"+late; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestGroupBy_BusyGroup(t *testing.T) {
	slow := func(_ byte, group strs) strs { return group.Delay(4 * ms) }
	session(t, "it holds up the source", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.GroupBy(cold(s, "-apbq|"), series, slow)).ToBe("-----a---p---b---(q|)")
	})
	session(t, "with Buffers, groups work at the same time", func(s *streamtest.Session) {
		buffered := func(key byte, group strs) strs { return slow(key, group.Buffer(1)) }
		streamtest.Expect(s, operators.GroupBy(cold(s, "-apbq|"), series, buffered)).ToBe("-----ap--b(q|)")
	})
	session(t, "the source fails when it is done", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.GroupBy(cold(s, "-a#"), series, slow)).ToBe("-----(a#)")
	})
}

func TestGroupBy_Errors(t *testing.T) {
	session(t, "a group's", func(s *streamtest.Session) {
		src, fails := streamtest.Cold[string](s, "-ap--b"), cold(s, "-#")
		groups := 0
		f := func(key byte, group strs) strs {
			if key == 'p' {
				return fails
			}
			return returns(group, &groups)
		}
		streamtest.Expect(s, operators.GroupBy(src.Stream, series, f)).ToBe("-a-#")
		src.Subscriptions("^--!")
		if groups != 1 {
			s.T().Errorf("%d groups have returned", groups)
		}
	})
	session(t, "of a group that a value waits for", func(s *streamtest.Session) {
		f := func(_ byte, group strs) strs {
			return group.Take(1).Delay(5 * ms).Concat(stream.Fail[string](errBoom))
		}
		streamtest.Expect(s, operators.GroupBy(cold(s, "-ab"), series, f)).Error(errBoom).ToBe("------(a#)")
	})
}

func TestGroupBy_NothingLost(t *testing.T) {
	const n, keys = 5000, 37
	s := operators.GroupBy(stream.Range(0, n), func(v int) int { return v % keys }, func(key int, group stream.Stream[int]) stream.Stream[[]int] {
		return operators.Batch(group, math.MaxInt, 0)
	})
	seen := 0
	err := s.ForEach(t.Context(), func(values []int) {
		for i, v := range values {
			if v != values[0]+i*keys {
				t.Fatalf("value %d of group %d is %d", i, values[0], v)
			}
		}
		seen += len(values)
	})
	if err != nil || seen != n {
		t.Error(seen, err)
	}
}

// A NaN is a key that equals no other: each opens a group, and all of them end.
func TestGroupBy_NaN(t *testing.T) {
	s := operators.GroupBy(stream.Of(1, 2, 3), func(int) float64 { return math.NaN() }, func(_ float64, group stream.Stream[int]) stream.Stream[int] {
		return operators.Count(group)
	})
	expectValues(t, s, []int{1, 1, 1}, nil)
}

func TestGroupBy_FunctionsAreCalledOnTheCallersGoroutine(t *testing.T) {
	caller := virtual.Current().ID
	here := func() {
		if id := virtual.Current().ID; id != caller {
			t.Errorf("called on goroutine %d, not on %d", id, caller)
		}
	}
	s := operators.GroupBy(stream.Range(0, 10), func(v int) int { here(); return v % 2 }, func(_ int, group stream.Stream[int]) stream.Stream[int] {
		here()
		return group
	})
	if _, err := s.Collect(context.Background()); err != nil {
		t.Error(err)
	}
}
