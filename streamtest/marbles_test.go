package streamtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

var errBoom = errors.New("boom")

func TestCold(t *testing.T) {
	Run(t, func(s *Session) {
		values := map[string]int{"a": 1, "b": 2, "c": 3}
		src := ColdWith(s, "--a--(bc)-- 20ms |", values)
		Expect(s, src.Stream).ToBeWith("--a--(bc)-- 20ms |", values)
		Expect(s, src.Filter(func(v int) bool { return v > 1 })).ToBe("-----(23)-- 20ms |")
		Expect(s, Cold[int](s, "-1-2").Stream).ToBeWith("-1-2-- 10s -", map[string]int{"1": 1, "2": 2})
		Expect(s, Cold[string](s, "--x#").Retry(1)).ToBe("--x--x#")
		Expect(s, Cold[string](s, "|").Stream).ToBe("|")
		Expect(s, Cold[string](s, "#").Stream).ToBe("#")
		Expect(s, Cold[string](s, "").Stream).ToBe("")
		Expect(s, Cold[string](s, "(ab#)").Stream).ToBe("(ab#)")
		Expect(s, Cold[string](s, "-ab------c|").Delay(3*ms)).ToBe("----a--b----(c|)") // a busy consumer
	})
}

func TestCold_OneDiagramForEachRun(t *testing.T) {
	Run(t, func(s *Session) {
		src := Cold[string](s, `
			--a--#
			--b--#

			--c--|`)
		Expect(s, src.Retry(5)).ToBe("--a----b----c--|")
		Expect(s, src.Stream).ToBe("--c--|") // the last one repeats
	})
}

// A run under a context that has ended takes no diagram from the others.
func TestCold_UnderAnEndedContext(t *testing.T) {
	Run(t, func(s *Session) {
		src := Cold[string](s, `
			--a|
			--b|`)
		ctx, cancel := context.WithCancelCause(s.Context())
		cancel(errBoom)
		if err := src.Stream(ctx, func(string) bool { t.Error("a value"); return true }); err != errBoom {
			t.Errorf("got %v, want the cause", err)
		}
		Expect(s, src.Stream).ToBe("--a|")
	})
}

func TestCold_KeepsTheContract(t *testing.T) {
	Run(t, func(s *Session) {
		ctx, cancel := context.WithCancelCause(s.Context())
		var got []string
		err := Cold[string](s, "-a-b|").Stream(ctx, func(v string) bool {
			got = append(got, v)
			time.AfterFunc(ms, func() { cancel(errBoom) })
			return true
		})
		if err != errBoom || len(got) != 1 || s.Elapsed() != 2*ms {
			t.Error(got, err, s.Elapsed())
		}
	})
}

func TestErrors(t *testing.T) {
	Run(t, func(s *Session) {
		other := errors.New("other")
		var seen []error
		src := Cold[string](s, "a#").Errors(errBoom, other).OnEnd(func(err error) { seen = append(seen, err) })
		Expect(s, src.Retry(2)).Error(other).ToBe("aaa#")
		if len(seen) != 3 || seen[0] != errBoom || seen[1] != other || seen[2] != other {
			t.Error(seen)
		}
		Expect(s, Cold[int](s, "|").Errors(errBoom).Stream).ToBe("|")
		Expect(s, Probe(s, stream.Fail[int](other)).Errors(errBoom).Stream).Error(other).ToBe("#")
	})
}

func TestHot(t *testing.T) {
	Run(t, func(s *Session) {
		src := Hot[string](s, "-x-^a-b--c--d-|")
		early := Expect(s, src.Stream)
		late := ExpectDuring(s, src.Stream, "---^----!")
		early.ToBe("-a-b--c--d-|")
		late.ToBe("---b--c---")
		Expect(s, src.Stream).ToBe("|") // it is over
		src.Subscriptions("^----------!", "---^----!", "-----------(^!)")
	})
}

func TestHot_Times(t *testing.T) {
	Run(t, func(s *Session) {
		Expect(s, Hot[string](s, "a--(bc#)").Stream).ToBe("a--(bc#)")
		Expect(s, Hot[string](s, "a|-^").Stream).ToBe("|")
		Expect(s, Hot[string](s, "^").Stream).ToBe("---")
		Expect(s, Hot[string](s, "-abc-|").Stream.Delay(3*ms)).ToBe("----a--b--(c|)") // queued for a busy subscriber
	})
}

func TestProbe(t *testing.T) {
	Run(t, func(s *Session) {
		src := Cold[string](s, "--a--#")
		Expect(s, src.Stream.Retry(1)).ToBe("--a----a--#")
		src.Subscriptions("^----!", "-----^----!")
		never := Probe(s, stream.Never[int]())
		never.Subscriptions()
		never.Subscriptions("-", "---")
		go never.Stream.Collect(s.Context())
		never.Subscriptions("-", "^")
	})
}

func TestSourcesOfOneInstantComeInTheOrderMade(t *testing.T) {
	for range 20 {
		Run(t, func(s *Session) {
			a, b, c := Cold[string](s, "-a----a"), Cold[string](s, "-b----b"), Hot[string](s, "-c----c").Stream
			e := Expect(s, c.Merge(b.Stream, a.Stream))
			e.ToBe("-(abc)(abc)")
		})
	}
}

// As in RxJS. In the first case, what the second run does at 4ms is armed at 1ms, what the first one does then at 3ms;
// in the second case, the first run arms first.
func TestRunsOfOneSourceComeInTheOrderSubscribed(t *testing.T) {
	for range 20 {
		for diagrams, want := range map[string]string{"---xa\n---b": "---x(ab)", "---a\n--b": "---(ab)"} {
			Run(t, func(s *Session) {
				Cold[string](s, "-") // src is the second source, not the first
				src := Cold[string](s, diagrams)
				late := operators.ConcatMap(stream.Timer(ms), func(time.Time) stream.Stream[string] { return src.Stream })
				Expect(s, src.Merge(late)).ToBe(want)
			})
		}
	}
}

func TestExpect_ADiagramWithoutAnEndDoesNotUnsubscribe(t *testing.T) {
	Run(t, func(s *Session) {
		src := Cold[string](s, "--a--b")
		Expect(s, src.Stream).ToBe("--a--") // b comes when the diagram is over
		src.Subscriptions("^")
		s.Advance(time.Hour)
		src.Subscriptions("^")
	})
}

func TestExpect_FailureShowsBothDiagrams(t *testing.T) {
	values := map[string]int{"a": 1, "b": 2}
	for name, test := range map[string]struct {
		f    func(s *Session)
		want string
	}{
		"late": {func(s *Session) { Expect(s, ColdWith(s, "--a-----a-#", values).Stream).ToBeWith("--a----a--#", values) }, `
    want  --a----a--#
    got   --a-----a-#
                 ^
    first difference: want the value 1 at 7ms, got the value 1 at 8ms
    a = 1`},
		"another value": {func(s *Session) { Expect(s, ColdWith(s, "--a-b|", values).Stream).ToBeWith("--a-a|", values) }, `
    want  --a-a|
    got   --a-b|
              ^
    first difference: want the value 1 at 4ms, got the value 2 at 4ms
    a = 1
    b = 2`},
		"unknown value": {func(s *Session) { Expect(s, stream.Of(1, 7, 7)).ToBeWith("(ab|)", values) }, `
    want  (ab|)
    got   (a77|)
          ^
    first difference: want the value 2 at 0s, got the value 7 at 0s
    a = 1
    b = 2`},
		"groups keep the columns": {func(s *Session) {
			Expect(s, Cold[string](s, "-a----c-|").Stream).ToBe("-(ab)-c-|")
		}, `
    want  -(ab)-c-|
    got   -a----c-|
           ^
    first difference: want the value "b" at 1ms, got the value "c" at 6ms`},
		"nothing": {func(s *Session) { Expect(s, stream.Never[string]()).ToBe("--a-|") }, `
    want  --a-|
    got   -----
            ^
    first difference: want the value "a" at 2ms, got nothing`},
		"too much": {func(s *Session) { Expect(s, Cold[string](s, "--a-b-").Stream).ToBe("--a---") }, `
    want  --a---
    got   --a-b-
              ^
    first difference: want nothing more, got the value "b" at 4ms`},
		"too little": {func(s *Session) { Expect(s, Cold[string](s, "--a|").Stream).ToBe("--a-b|") }, `
    want  --a-b|
    got   --a|
             ^
    first difference: want the value "b" at 4ms, got the end at 3ms`},
		"another error": {func(s *Session) { Expect(s, stream.Fail[string](errBoom)).ToBe("#") }, `
    want  #
    got   #
          ^
    first difference: want the error "the error # of a diagram" at 0s, got the error "boom" at 0s`},
		"any error": {func(s *Session) { Expect(s, stream.Of("a")).Error(nil).ToBe("#") }, `
    want  #
    got   (a|)
          ^
    first difference: want an error at 0s, got the value "a" at 0s`},
		"letters with a value and without": {func(s *Session) {
			Expect(s, stream.Of("one", "b", "a")).ToBeWith("(abc|)", map[string]string{"a": "one"})
		}, `
    want  (abc|)
    got   (abA|)
          ^
    first difference: want the value "c" at 0s, got the value "a" at 0s
    a = "one"
    A = "a"`},
		"a letter that is taken": {func(s *Session) { Expect(s, stream.Of("long", "A", "B")).ToBe("-|") }, `
    want        |
    got   (ABC|)
          ^
    first difference: want the end at 1ms, got the value "long" at 0s
    A = "long"
    B = "A"
    C = "B"`},
		"long times": {func(s *Session) { Expect(s, Cold[string](s, "a 1.5s b 0.5ms |").Stream).ToBe("a 1.5s b|") }, `
    want  a 1500ms b|
    got   a 1500ms b |
                    ^
    first difference: want the end at 1.502s, got the end at 1.5025s`},
		"a panic": {func(s *Session) {
			Expect(s, panics).ToBe("|")
		}, "the stream panicked: ouch"},
	} {
		t.Run(name, func(t *testing.T) {
			expectReports(t, reports(t, test.f), []string{"streamtest: the stream is not as expected:", test.want})
		})
	}
}

// panics is a stream that does.
var panics = stream.Defer(func(context.Context) stream.Stream[string] { panic("ouch") })

func TestExpect_Misuse(t *testing.T) {
	for name, test := range map[string]struct {
		f    func(s *Session)
		want string
	}{
		"nil": {func(s *Session) { Expect[int](s, nil) }, "streamtest: Expect: the stream is nil"},
		"two ToBes": {func(s *Session) {
			e := Expect(s, stream.Of("a").Concat(stream.Never[string]()))
			e.ToBe("a-")
			e.ToBe("a---")
		}, "streamtest: ToBe: called a second time"},
		"any error":    {func(s *Session) { Expect(s, panics).Error(nil).ToBe("#") }, "the stream panicked: ouch"},
		"key":          {func(s *Session) { ColdWith(s, "a", map[string]int{"a": 1, "|": 2}) }, `"|" is a key of the values, want single letters or digits`},
		"no ToBe":      {func(s *Session) { Expect(s, stream.Never[int]()) }, "streamtest: Expect without ToBe, at:"},
		"during":       {func(s *Session) { ExpectDuring(s, stream.Of(1), "-x") }, `streamtest: Expect: "-x", position 2: 'x' has no meaning here`},
		"diagram":      {func(s *Session) { Expect(s, stream.Of("")).ToBe("-)") }, `streamtest: ToBe: "-)", position 2`},
		"values":       {func(s *Session) { Expect(s, stream.Of(1)).ToBe("a") }, `streamtest: ToBe: "a", position 1: the values have no "a"`},
		"cold":         {func(s *Session) { Cold[string](s, "a?") }, `streamtest: Cold: "a?", position 2: '?' has no meaning`},
		"cold, values": {func(s *Session) { ColdWith(s, "ab", map[string]bool{"a": true}) }, `streamtest: Cold: "ab", position 2: the values have no "b", only a`},
		"hot":          {func(s *Session) { Hot[string](s, "a\nb") }, `streamtest: Hot: 2 diagrams, want 1`},
		"probe":        {func(s *Session) { Probe[string](s, nil) }, `streamtest: Probe: the stream is nil`},
		"watch":        {func(s *Session) { Watch[string](s, nil) }, `streamtest: Watch: the stream is nil`},
		"advance":      {func(s *Session) { s.Advance(-1) }, `streamtest: Advance: d is -1ns, want at least 0`},
		"subscriptions, no begin": {func(s *Session) { Probe(s, stream.Of(1)).Subscriptions("--!") },
			`streamtest: Subscriptions: "--!": there is no '^', which marks the subscription`},
		"subscriptions": {func(s *Session) { Probe(s, stream.Of(1)).Subscriptions("x") }, `streamtest: Subscriptions: "x", position 1`},
	} {
		t.Run(name, func(t *testing.T) { expectReports(t, reports(t, test.f), []string{test.want}) })
	}
}

func TestSubscriptions_FailureShowsBothDiagrams(t *testing.T) {
	for name, test := range map[string]struct {
		source, subs []string // one line each
		from, want   string
	}{
		"others": {[]string{"--a--#", "--a--|"}, []string{"^----!", "------^----!", "-^"}, "from number 2 on:", `
    want  ^----!
    got   ^----!
    want  ------^----!
    got   -----^----!
    want  -^
    got   none`},
		"fewer": {[]string{"-|"}, []string{"^!", "-^!"}, "from number 2 on:", `
    want  ^!
    got   ^!
    want  -^!
    got   none`},
		"more": {[]string{"-#", "-|"}, []string{"^!"}, "from number 2 on:", `
    want  ^!
    got   ^!
    want  none
    got   -^!`},
		"none expected": {[]string{"-|"}, nil, "from number 1 on:", `
    want  none
    got   ^!`},
		"never subscribed to": {[]string{"-|"}, []string{"-"}, "from number 1 on:", `
    want  none
    got   ^!`},
	} {
		t.Run(name, func(t *testing.T) {
			expectReports(t, reports(t, func(s *Session) {
				src := Cold[string](s, strings.Join(test.source, "\n"))
				_, _ = src.Retry(1).Collect(s.Context())
				src.Subscriptions(test.subs...)
			}), []string{"streamtest: the subscriptions are not as expected, " + test.from, test.want})
		})
	}
}

func TestAStreamThatLeavesATimer(t *testing.T) {
	leaves := stream.Stream[string](func(ctx context.Context, yield func(string) bool) error {
		stream.ClockFrom(ctx).AfterFunc(ms, func() {})
		return nil
	})
	for name, f := range map[string]func(s *Session){
		"Expect": func(s *Session) { Expect(s, leaves).ToBe("|") },
		"Watch":  func(s *Session) { Watch(s, leaves).End() },
	} {
		expectReports(t, reports(t, f), []string{"streamtest: " + name + ": the stream has returned and left 1 timer armed:", "marbles_test.go", "subscribed to at:"})
	}
}

func TestExpect_AStreamThatDoesNotHeedItsContext(t *testing.T) {
	leavesGoroutines(t)
	got := reports(t, func(s *Session) {
		Expect(s, stream.Stream[string](func(ctx context.Context, yield func(string) bool) error {
			select {}
		})).ToBe("--")
	})
	expectReports(t, got, []string{"1 goroutine left", "started by streamtest", "marbles_test.go"}, []string{"not everything"})
}

func TestWatch(t *testing.T) {
	Run(t, func(s *Session) {
		src := Cold[string](s, "a 999ms b#\n--c|")
		Watch(s, src.Retry(1)).
			Next("a").
			NoEvent(time.Second).
			Next("b").
			NoEvent(3 * ms).
			Next("c").
			End().
			NoEvent(time.Second)
		Watch(s, stream.Fail[int](errBoom)).Error(errBoom)
		Watch(s, stream.Fail[int](errBoom)).Error(nil)
		Watch(s, stream.Never[int]()).NoEvent(time.Hour)
		Watch(s, stream.Never[int]()).NoEvent(0)
		w := Watch(s, stream.Interval(time.Second))
		w.NoEvent(time.Second).Next(time.Now()).NoEvent(0).NoEvent(time.Second)
		s.Advance(2 * time.Second)
		if rest, err := w.Rest(); len(rest) != 3 || err != nil {
			t.Error(rest, err)
		}
		w = Watch(s, stream.Timer(1).Concat(stream.Fail[time.Time](errBoom)))
		s.Advance(1)
		if rest, err := w.Rest(); len(rest) != 1 || err != errBoom {
			t.Error(rest, err)
		}
	})
}

func TestWatch_Failures(t *testing.T) {
	src := func(s *Session) *Watcher[string] { return Watch(s, Cold[string](s, "-a-b#").Stream) }
	for name, test := range map[string]struct {
		f    func(s *Session)
		want []string
	}{
		"another value":    {func(s *Session) { src(s).Next("x") }, []string{`Watch, at 1ms: want the value "x", got the value "a"; events so far:`, `the value "a" at 1ms`}},
		"no error":         {func(s *Session) { src(s).Error(errBoom) }, []string{`want an error that is "boom", got the value "a"`}},
		"a panic":          {func(s *Session) { Watch(s, panics).Error(nil) }, []string{"want an error, got the error \"streamtest: the stream panicked: ouch"}},
		"another error":    {func(s *Session) { src(s).Next("a").Next("b").Error(errBoom) }, []string{`want an error that is "boom", got the error "the error # of a diagram"`}},
		"no end":           {func(s *Session) { src(s).End() }, []string{`want the end, got the value "a"`}},
		"an event":         {func(s *Session) { src(s).NoEvent(2 * ms) }, []string{`want no event for 2ms, got the value "a"`}},
		"an event already": {func(s *Session) { w := src(s); s.Advance(2 * ms); w.NoEvent(0) }, []string{`want no event for 0s, got the value "a"`}},
		"over":             {func(s *Session) { src(s).Next("a").Next("b").Error(nil).Next("c") }, []string{`want the value "c", got nothing more: the stream is over`}},
		"nothing":          {func(s *Session) { Watch(s, stream.Never[int]()).Next(1) }, []string{"want the value 1, got nothing: nothing happens any more; events so far: nothing"}},
		"many events":      {func(s *Session) { Watch(s, stream.Range(0, 30)).Next(1) }, []string{"events so far:\n    … (11 more)\n    the value 11 at 0s\n", "the end at 0s"}},
		"an event before":  {func(s *Session) { src(s).Next("a").NoEvent(2 * ms).NoEvent(ms) }, []string{`want no event for 1ms, got the value "b"`}},
		"unasked, at the end": {func(s *Session) { src(s).Next("a"); s.Advance(time.Second) },
			[]string{"streamtest: Watch: 2 events that the test has not checked:", `the value "b" at 3ms`, `the error "the error # of a diagram" at 4ms`, "subscribed to at:", "marbles_test.go"}},
	} {
		t.Run(name, func(t *testing.T) { expectReports(t, reports(t, test.f), test.want) })
	}
	if got := strings.Join(reports(t, func(s *Session) { src(s).Next("a").NoEvent(2 * ms).Next("b").Error(nil) }), ""); got != "" {
		t.Error(got)
	}
}
