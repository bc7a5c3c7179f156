package operators_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestZipWith_Times(t *testing.T) {
	expectTwo(t, map[string]two{
		"each waits for the other":                    {"--a-b---c-|", "---xy-z", "---AB---C-|", "^---------!", "^---------!"},
		"b ends while a waits":                        {"-a--------b", "--x|", "--A|", "^--!", "^--!"},
		"b ends while a has a value":                  {"-a", "---|", "---|", "^--!", "^--!"},
		"a ends while b waits":                        {"-a|", "x----y", "-A|", "^-!", "^-!"},
		"a ends while b has a value":                  {"--a-|", "-xy", "--A-|", "^---!", "^---!"},
		"both end":                                    {"-a|", "-x|", "-A|", "^-!", "^-!"},
		"a is empty":                                  {"--|", "-x", "--|", "^-!", "^-!"},
		"b is empty":                                  {"-a", "--|", "--|", "^-!", "^-!"},
		"a fails":                                     {"-a#", "-x", "-A#", "^-!", "^-!"},
		"a fails while b has a value":                 {"-a-#", "-xy", "-A-#", "^--!", "^--!"},
		"b fails while a waits":                       {"-a", "-x#", "-A#", "^-!", "^-!"},
		"b fails while a has a value":                 {"-ab", "-x-#", "-A-#", "^--!", "^--!"},
		"the last pair comes before b's late failure": {"-a-(b|)", "-xy-#", "-A-(B|)", "^--!", "^--!"},
	}, pairs, map[string]ofTwo{"ZipWith": func(a, b strs) strs { return operators.ZipWith(a, b, join) }})
}

// Whichever stream ends or fails, the others end with it, whatever they wait for.
func TestZipWith3_AnEndOfAnyEndsAll(t *testing.T) {
	for name, c := range map[string]struct{ a, b, c, want string }{
		"c ends while b is awaited":                {"-a", "-----y-z", "---|", "---|"},
		"c fails while b is awaited":               {"-a", "-----y-z", "---#", "---#"},
		"c ends while b is silent":                 {"-a", "-", "---|", "---|"},
		"c ends, and b would fail":                 {"-a", "-----#", "---|", "---|"},
		"c ends after a triple, b would fail":      {"-a--b", "-x----#", "-z---|", "-a---|"},
		"b ends while c is awaited":                {"-a", "---|", "-----y", "---|"},
		"a ends while both have values":            {"--|", "-x", "-y", "--|"},
		"c ends while a is awaited, b has a value": {"-----a", "-x", "---|", "---|"},
	} {
		session(t, name, func(s *streamtest.Session) {
			zipped := operators.ZipWith3(cold(s, c.a), cold(s, c.b), cold(s, c.c), func(a, _, _ string) string { return a })
			streamtest.Expect(s, zipped).ToBe(c.want)
		})
	}
}

func TestZipWith_StoppedAndCancelled(t *testing.T) {
	session(t, "stopped, while a does not stop", func(s *streamtest.Session) {
		rude := strs(func(_ context.Context, yield func(string) bool) error {
			for range 3 {
				yield("a")
			}
			return nil
		})
		streamtest.Expect(s, operators.ZipWith(rude, cold(s, "-x"), join).Take(1)).ToBeWith("-(A|)", pairs)
	})
	session(t, "cancelled while a waits", func(s *streamtest.Session) {
		expectCancelled(s, operators.ZipWith(cold(s, "--a"), cold(s, "x--y"), second), "-----!", "--x---")
	})
	session(t, "cancelled while b waits", func(s *streamtest.Session) {
		expectCancelled(s, operators.ZipWith(cold(s, "-ab"), cold(s, "-x"), second), "-----!", "-x----")
	})
}

func TestZipWith_BothWaitForTheConsumer(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var a, b atomic.Int64
		n := 0
		s := operators.ZipWith(counted(100, &a), counted(100, &b), add)
		_ = s(t.Context(), func(int) bool {
			time.Sleep(time.Second)
			n++
			if a.Load() != int64(n) || b.Load() != int64(n) {
				t.Errorf("%d and %d made for pair %d", a.Load(), b.Load(), n)
			}
			return n < 10
		})
	})
}

func TestZip_Pairs(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		streamtest.Expect(s, operators.Zip(cold(s, "-ab|"), stream.Range(1, 9))).
			ToBeWith("-AB|", map[string]operators.Pair[string, int]{"A": {"a", 1}, "B": {"b", 2}})
	})
}

func TestTakeUntil_Times(t *testing.T) {
	expectTwo(t, map[string]two{
		"stop's first value ends it":        {"-ab-c", "---x-y", "-ab|", "^--!", "^--!"},
		"s ends first":                      {"-a|", "---x", "-a|", "^-!", "^-!"},
		"s fails first":                     {"-a#", "---x", "-a#", "^-!", "^-!"},
		"stop's end changes nothing":        {"-a--b|", "---|", "-a--b|", "^----!", "^--!"},
		"stop's failure is a failure":       {"-a--b", "---#", "-a-#", "^--!", "^--!"},
		"stop is over before the first one": {"----a", "---x", "---|", "^--!", "^--!"},
		"empty":                             {"|", "---x", "|", "(^!)", "(^!)"},
	}, nil, map[string]ofTwo{"TakeUntil": operators.TakeUntil[string, string]})
	bubble(t, "cancelled while the consumer works, after stop has spoken: the error tells so", func(t *testing.T) {
		for stop, alsoBoom := range map[string]bool{"20x": false, "20|": false, "20#": true} {
			ctx := cancelAt(t, 30*ms)
			err := operators.TakeUntil(fromScript("10a 50b"), fromScript(stop)).ForEach(ctx, func(string) { time.Sleep(30 * ms) })
			if !errors.Is(err, errCause) || errors.Is(err, errBoom) != alsoBoom {
				t.Errorf("stop %s: got %v", stop, err)
			}
		}
	})
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
		operator    ofTwo
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
		got := playWith(t.Context(), operators.TakeUntil(fromScript("10a 20b 30c"), fromScript("25x")), func(string) bool {
			time.Sleep(10 * ms)
			return true
		})
		if want := "10a 20b 30|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	session(t, "stop is cancelled at its first value, and waited for", func(s *streamtest.Session) {
		slow := cold(s, "--x-y").OnEnd(func(error) { time.Sleep(3 * ms) })
		streamtest.Expect(s, operators.TakeUntil(cold(s, "-a"), slow)).ToBe("-a---|")
	})
	bubble(t, "a panic of stop ends it", func(t *testing.T) {
		stop := stream.Timer(10 * ms).Tap(func(time.Time) { panic(errBoom) })
		v := recovered(func() { _, _ = operators.TakeUntil(stream.Never[int](), stop).Collect(t.Context()) })
		if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
			t.Errorf("%v", v)
		}
	})
}
