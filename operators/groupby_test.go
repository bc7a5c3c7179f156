package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

type strs = stream.Stream[string]

func TestGroupBy_Times(t *testing.T) {
	bubble(t, "each key has a stream of its own", func(t *testing.T) {
		numbered := func(key byte, group strs) strs {
			n := 0
			return operators.Map(group, func(v string) string { n++; return fmt.Sprintf("%s(%d)", v, n) })
		}
		expectBoth(t, operators.GroupBy(cold("10a1 20b1 30a2 40c1 50b2 60|"), letter, numbered),
			"10a1(1) 20b1(1) 30a2(2) 40c1(1) 50b2(2) 60|")
	})
	bubble(t, "a group ends with the source", func(t *testing.T) {
		count := func(key byte, group strs) stream.Stream[int] { return operators.Count(group) }
		got, err := operators.GroupBy(cold("10a1 20b1 30a2 40a3 60|"), letter, count).Collect(t.Context())
		slices.Sort(got)
		if err != nil || !slices.Equal(got, []int{1, 3}) {
			t.Error(got, err)
		}
	})
	bubble(t, "groups have their own time", func(t *testing.T) {
		last := func(key byte, group strs) strs { return group.Debounce(50 * ms) }
		expectBoth(t, operators.GroupBy(cold("10a1 20b1 40a2 65a3 200|"), letter, last), "70b1 115a3 200|")
	})
	bubble(t, "empty", func(t *testing.T) {
		expect(t, operators.GroupBy(cold("10|"), letter, func(byte, strs) strs { t.Error("f is called"); return nil }), "10|")
	})
}

func TestGroupBy_GroupsThatAreNotConsumed(t *testing.T) {
	for name, f := range map[string]func(byte, strs) strs{
		"never run, ends at once":   func(byte, strs) strs { return stream.Empty[string]() },
		"run under a stopped Take":  func(_ byte, group strs) strs { return group.Take(0) },
		"run and left without once": func(_ byte, group strs) strs { return operators.TakeUntil(stream.Empty[string](), group) },
	} {
		bubble(t, name, func(t *testing.T) {
			expect(t, operators.GroupBy(cold("10a1 20b1 30a2 60|"), letter, f), "60|")
		})
	}
	bubble(t, "one that ends later holds up the source until it does, when the next value is for it", func(t *testing.T) {
		f := func(key byte, _ strs) strs { return cold("25z 25|") }
		expect(t, operators.GroupBy(cold("10a1 12b1 60|"), letter, f), "35z 60z 60|")
	})
	bubble(t, "one that never ends is ended by the cancel", func(t *testing.T) {
		f := func(byte, strs) strs { return stream.Never[string]() }
		expectCancelled(t, time.Second, operators.GroupBy(cold("10a1 20b1"), letter, f), "1000!")
	})
}

func TestGroupBy_ClosedGroupsOpenAgain(t *testing.T) {
	bubble(t, "after a Take", func(t *testing.T) {
		opened := 0
		f := func(key byte, group strs) strs { opened++; return group.Take(2) }
		expectBoth(t, operators.GroupBy(cold("10a1 20a2 30a3 40a4 50a5 60|"), letter, f), "10a1 20a2 30a3 40a4 50a5 60|")
		if opened != 2*3 {
			t.Errorf("%d groups opened", opened)
		}
	})
	bubble(t, "while the old one's stream still runs", func(t *testing.T) {
		f := func(key byte, group strs) strs { return group.Take(1).Concat(cold("100z 100|")) }
		expect(t, operators.GroupBy(cold("10a1 20a2 30|"), letter, f), "10a1 20a2 110z 120z 120|")
	})
	bubble(t, "after a silence", func(t *testing.T) {
		f := func(key byte, group strs) strs {
			return group.Timeout(50 * ms).Catch(func(error) strs { return stream.Of("-") })
		}
		expectBoth(t, operators.GroupBy(cold("10a1 20a2 100a3 110|"), letter, f), "10a1 20a2 70- 100a3 110|")
	})
	bubble(t, "while a value waits for one that closes without it", func(t *testing.T) {
		// The group takes one value, is busy with it for 50 ms and closes: the second one opens a new group.
		f := func(key byte, group strs) strs { return group.Delay(50 * ms).Take(1) }
		expectBoth(t, operators.GroupBy(cold("10a1 20a2 30a3 300|"), letter, f), "60a1 110a2 160a3 300|")
	})
}

func TestGroupBy_RunTwice(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := func(key byte, group strs) strs { return group.Take(1).Concat(group) }
		_, err := operators.GroupBy(cold("10a1 20a2 30|"), letter, f).Collect(t.Context())
		if !errors.Is(err, stream.ErrNotRestartable) {
			t.Error(err)
		}
	})
}

// What ReactiveX does with groups, to hand them out, ends in an error here, and not in one who waits forever.
func TestGroupBy_HandedOut(t *testing.T) {
	const late = "# operators: GroupBy: a group is run once, while f's stream runs: stream: the source cannot be run a second time"
	bubble(t, "to FlatMap, with f's stream over at once", func(t *testing.T) {
		groups := operators.GroupBy(cold("10a1 20b1 30a2 40|"), letter, func(_ byte, group strs) stream.Stream[strs] { return stream.Of(group) })
		s := operators.FlatMap(groups, math.MaxInt, func(group strs) strs { return group.Filter(func(string) bool { return false }) })
		expectCancelled(t, time.Hour, s, "10"+late)
	})
	bubble(t, "to FlatMap, with f's stream over later", func(t *testing.T) {
		groups := operators.GroupBy(cold("10a1 20b1 30a2 70a3"), letter, func(_ byte, group strs) stream.Stream[strs] {
			return stream.Of(group).Concat(operators.Map(cold("50|"), func(string) strs { return nil }))
		})
		s := operators.FlatMap(groups, math.MaxInt, func(group strs) strs { return group })
		expectCancelled(t, time.Hour, s, "10a1 20b1 30a2 60"+late)
	})
	bubble(t, "to one that goes on when the source has ended", func(t *testing.T) {
		groups := operators.GroupBy(cold("10a1 20b1 30a2 40|"), letter, func(_ byte, group strs) stream.Stream[strs] {
			return stream.Of(group).Concat(operators.Map(cold("50|"), func(string) strs { return nil }))
		})
		s := operators.FlatMap(groups, math.MaxInt, func(group strs) strs { return group })
		expectCancelled(t, time.Hour, s, "10a1 20b1 30a2 70|")
	})
	bubble(t, "to one whose context goes on when all is cancelled", func(t *testing.T) {
		ended := make(chan string, 1)
		f := func(_ byte, group strs) strs {
			go func() { ended <- play(context.Background(), group) }()
			return stream.Never[string]()
		}
		expectCancelled(t, 30*ms, operators.GroupBy(cold("10a1 20a2"), letter, f), "30!")
		if got, want := <-ended, "0a1 10a2 20"+late; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestGroupBy_BusyGroup(t *testing.T) {
	slow := func(_ byte, group strs) strs { return group.Delay(100 * ms) }
	bubble(t, "it holds up the source", func(t *testing.T) {
		expect(t, operators.GroupBy(cold("10a1 20b1 30a2 40b2 50|"), letter, slow), "110a1 210b1 310a2 410b2 410|")
	})
	bubble(t, "with Buffers, groups work at the same time", func(t *testing.T) {
		buffered := func(key byte, group strs) strs { return slow(key, group.Buffer(1)) }
		expect(t, operators.GroupBy(cold("10a1 20b1 30a2 40b2 50|"), letter, buffered), "110a1 120b1 210a2 220b2 220|")
	})
	bubble(t, "the source fails when it is done", func(t *testing.T) {
		expect(t, operators.GroupBy(cold("10a1 20#"), letter, slow), "110a1 110#")
	})
	bubble(t, "a Buffer gives it room", func(t *testing.T) {
		buffered := func(key byte, group strs) strs { return slow(key, group.Buffer(10)) }
		expect(t, operators.GroupBy(cold("10a1 20a2 30a3 35b1 50|"), letter, buffered), "110a1 135b1 210a2 310a3 310|")
	})
}

func TestGroupBy_Errors(t *testing.T) {
	bubble(t, "the source's", func(t *testing.T) {
		groups := 0
		f := func(_ byte, group strs) strs { return returns(group, &groups) }
		expect(t, operators.GroupBy(cold("10a1 20b1 30#"), letter, f), "10a1 20b1 30#")
		if groups != 2 {
			t.Errorf("%d groups have returned", groups)
		}
	})
	bubble(t, "a group's", func(t *testing.T) {
		sources, groups := 0, 0
		f := func(key byte, group strs) strs {
			if key == 'b' {
				return cold("5#")
			}
			return returns(group, &groups)
		}
		expect(t, operators.GroupBy(returns(cold("10a1 20b1 30a2"), &sources), letter, f), "10a1 25#")
		if sources != 1 || groups != 1 {
			t.Errorf("%d, %d have returned", sources, groups)
		}
	})
	bubble(t, "of a group that a value waits for", func(t *testing.T) {
		f := func(_ byte, group strs) strs {
			return group.Take(1).Delay(50 * ms).Concat(stream.Fail[string](errBoom))
		}
		expect(t, operators.GroupBy(cold("10a1 20a2"), letter, f), "60a1 60#")
	})
}

func TestGroupBy_StoppedAndCancelled(t *testing.T) {
	same := func(_ byte, group strs) strs { return group }
	bubble(t, "stopped", func(t *testing.T) {
		expect(t, operators.GroupBy(cold("10a1 20b1"), letter, same).Take(1), "10a1 10|")
	})
	bubble(t, "cancelled", func(t *testing.T) {
		expectCancelled(t, 50*ms, operators.GroupBy(cold("10a1 20b1"), letter, same), "10a1 20b1 50!")
	})
	bubble(t, "cancelled while a value waits for its group", func(t *testing.T) {
		f := func(_ byte, group strs) strs { return group.Delay(time.Hour) }
		expectCancelled(t, 50*ms, operators.GroupBy(cold("10a1 20a2"), letter, f), "50!")
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
	caller := goroutine.Current().ID
	here := func() {
		if id := goroutine.Current().ID; id != caller {
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
