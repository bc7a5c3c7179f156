package operators_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// several is what three streams do, and what comes of them.
type several struct {
	a, b, c string
	during  string // the subscription, if it is cancelled
	want    string
	values  map[string]string
	subs    [3]string
}

type ofThree func(a, b, c strs) strs

// expectSeveral runs the operator on three streams, in each of the forms it has.
func expectSeveral(t *testing.T, cases map[string]several, forms map[string]ofThree) {
	t.Helper()
	for form, apply := range forms {
		for name, c := range cases {
			t.Run(form+"/"+name, func(t *testing.T) {
				streamtest.Run(t, func(s *streamtest.Session) {
					var in [3]*streamtest.Source[string]
					for i, diagram := range []string{c.a, c.b, c.c} {
						in[i] = streamtest.Cold[string](s, diagram)
					}
					streamtest.ExpectDuring(s, apply(in[0].Stream, in[1].Stream, in[2].Stream), c.during).ToBeWith(c.want, c.values)
					for i, subs := range c.subs {
						in[i].Subscriptions(subs)
					}
				})
			})
		}
	}
}

// two is what two streams do, what comes of it, and when each was run.
type two struct{ a, b, want, runsOfA, runsOfB string }

type ofTwo func(a, b strs) strs

// expectTwo is expectSeveral of two streams that are not cancelled.
func expectTwo(t *testing.T, cases map[string]two, values map[string]string, forms map[string]ofTwo) {
	t.Helper()
	all := map[string]several{}
	for name, c := range cases {
		all[name] = several{a: c.a, b: c.b, want: c.want, values: values, subs: [3]string{c.runsOfA, c.runsOfB}}
	}
	for name, apply := range forms {
		expectSeveral(t, all, map[string]ofThree{name: func(a, b, _ strs) strs { return apply(a, b) }})
	}
}

// pairs are the letters for what join makes of two values.
var pairs = map[string]string{"A": "ax", "B": "by", "C": "cz", "D": "ay", "E": "bx", "F": "cx", "G": "dx"}

func join3(a, b, c string) string { return a + b + c }

// joined is the stream of the slices, each as one text.
func joined(s stream.Stream[[]string]) strs {
	return operators.Map(s, func(v []string) string { return strings.Join(v, "") })
}

func TestZip_Three(t *testing.T) {
	x := map[string]string{"A": "apx", "B": "bqy", "C": "crz"}
	expectSeveral(t, map[string]several{
		"each row waits for its last value":        {"-a-b-----|", "--p---q--|", "---x---y-|", "", "---A---B-|", x, [3]string{"^--------!", "^--------!", "^--------!"}},
		"in whatever order they come":              {"---a-b---|", "-p---q---|", "--x--y---|", "", "---A-B---|", x, [3]string{"^--------!", "^--------!", "^--------!"}},
		"the first one ends, the others do not":    {"-a-|", "-p----", "-x----", "", "-A-|", x, [3]string{"^--!", "^--!", "^--!"}},
		"the second one ends":                      {"-a----", "-p-|", "-x----", "", "-A-|", x, [3]string{"^--!", "^--!", "^--!"}},
		"the third one ends":                       {"-a----", "-p----", "-x-|", "", "-A-|", x, [3]string{"^--!", "^--!", "^--!"}},
		"one ends while the others have values":    {"-a-b--", "-p-q--", "-x--|", "", "-A--|", x, [3]string{"^---!", "^---!", "^---!"}},
		"one that is ahead ends after its values":  {"abc|", "--p-q-r-", "---x-y-z---", "", "---A-B-(C|)", x, [3]string{"^------!", "^------!", "^------!"}},
		"the first one fails":                      {"-a-#", "-p----", "-x----", "", "-A-#", x, [3]string{"^--!", "^--!", "^--!"}},
		"the second one fails":                     {"-a----", "-p-#", "-x----", "", "-A-#", x, [3]string{"^--!", "^--!", "^--!"}},
		"the third one fails, with values waiting": {"-ab---", "-pq---", "-x-#", "", "-A-#", x, [3]string{"^--!", "^--!", "^--!"}},
		"one fails at once":                        {"-a-", "#", "-x-", "", "#", nil, [3]string{"(^!)", "(^!)", "(^!)"}},
		"one is empty":                             {"-a-", "--|", "-x-", "", "--|", nil, [3]string{"^-!", "^-!", "^-!"}},
		"all are empty":                            {"--|", "--|", "--|", "", "--|", nil, [3]string{"^-!", "^-!", "^-!"}},
		"one is silent":                            {"-a-b-", "-", "-x-y-", "", "------", nil, [3]string{"^", "^", "^"}},
		"cancelled in the middle of a row":         {"-a-b-", "-p---", "-x-y-", "----!", "-A----", x, [3]string{"^---!", "^---!", "^---!"}},
	}, map[string]ofThree{
		"ZipWith3": func(a, b, c strs) strs { return operators.ZipWith3(a, b, c, join3) },
		"ZipSlice": func(a, b, c strs) strs { return joined(operators.ZipSlice(a, b, c)) },
	})
}

func TestCombineLatest_Three(t *testing.T) {
	x := map[string]string{"A": "apx", "B": "bpx", "C": "bqx", "D": "bqy"}
	expectSeveral(t, map[string]several{
		"each value with the others' last":    {"-a----b-----|", "--p-----q---|", "---x------y-|", "", "---A--B-C-D-|", x, [3]string{"^-----------!", "^-----------!", "^-----------!"}},
		"the last one to have a value begins": {"---a--b-----|", "-p------q---|", "--x-------y-|", "", "---A--B-C-D-|", x, [3]string{"^-----------!", "^-----------!", "^-----------!"}},
		"what comes before that is replaced":  {"zyxa------|", "--p-------|", "------x---|", "", "------A---|", x, [3]string{"^---------!", "^---------!", "^---------!"}},
		"one that has ended keeps its value":  {"-a----b----|", "-p|", "--x-|", "", "--A---B----|", x, [3]string{"^----------!", "^-!", "^---!"}},
		"it ends with the last one":           {"-a|", "--p|", "---x--|", "", "---A--|", x, [3]string{"^-!", "^--!", "^-----!"}},
		"the first one ends without a value":  {"--|", "-p----", "-x----", "", "--|", nil, [3]string{"^-!", "^-!", "^-!"}},
		"the second one does":                 {"-a----", "--|", "-x----", "", "--|", nil, [3]string{"^-!", "^-!", "^-!"}},
		"the third one does":                  {"-a----", "-p----", "--|", "", "--|", nil, [3]string{"^-!", "^-!", "^-!"}},
		"the third one, when others are over": {"-a|", "-p|", "-----|", "", "-----|", nil, [3]string{"^-!", "^-!", "^----!"}},
		"all do":                              {"--|", "--|", "--|", "", "--|", nil, [3]string{"^-!", "^-!", "^-!"}},
		"the first one fails":                 {"-a-#", "-p----", "-x----", "", "-A-#", x, [3]string{"^--!", "^--!", "^--!"}},
		"the third one fails":                 {"-a----", "-p----", "-x-#", "", "-A-#", x, [3]string{"^--!", "^--!", "^--!"}},
		"one fails before there is a value":   {"-----a", "---#", "-x----", "", "---#", nil, [3]string{"^--!", "^--!", "^--!"}},
		"one is silent":                       {"-a-b-", "-", "-x-y-", "", "------", nil, [3]string{"^", "^", "^"}},
		"cancelled":                           {"-a----b---", "-p--------", "-x--------", "----!", "-A--------", x, [3]string{"^---!", "^---!", "^---!"}},
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

// While the consumer has a value in hand, no stream of a zip goes on, and of a combination none but the others by one
// value.
func TestSeveral_WaitForTheConsumer(t *testing.T) {
	for name, apply := range map[string]func(in []ints) ints{
		"ZipWith3": func(in []ints) ints { return operators.ZipWith3(in[0], in[1], in[2], add3) },
		"ZipSlice": func(in []ints) ints { return operators.Map(operators.ZipSlice(in...), sumOf) },
	} {
		bubble(t, name, func(t *testing.T) {
			var made [3]atomic.Int64
			in := []ints{counted(100, &made[0]), counted(100, &made[1]), counted(100, &made[2])}
			n := 0
			_ = apply(in)(t.Context(), func(v int) bool {
				time.Sleep(time.Second)
				synctest.Wait()
				if n++; v != 3*n {
					t.Errorf("value %d is %d", n, v)
				}
				for i := range made {
					if made := made[i].Load(); made != int64(n) {
						t.Errorf("stream %d has made %d for value %d", i, made, n)
					}
				}
				return n < 10
			})
		})
	}
	for name, apply := range map[string]func(in []ints) ints{
		"CombineLatest3":     func(in []ints) ints { return operators.CombineLatest3(in[0], in[1], in[2], add3) },
		"CombineLatestSlice": func(in []ints) ints { return operators.Map(operators.CombineLatestSlice(in...), sumOf) },
	} {
		bubble(t, name, func(t *testing.T) {
			n := 0
			in := []ints{stream.Range(0, 10), stream.Range(0, 10), stream.Range(0, 10)}
			err := apply(in).ForEach(t.Context(), func(int) { n++; time.Sleep(time.Second) })
			if err != nil || n < 10 || n > 28 {
				t.Errorf("%d combinations, %v", n, err)
			}
		})
	}
}

func add3(a, b, c int) int { return a + b + c }

func sumOf(v []int) (sum int) {
	for _, each := range v {
		sum += each
	}
	return sum
}

// A consumer that stops is the end, though the streams would go on.
func TestSeveral_Stopped(t *testing.T) {
	expectSeveral(t, map[string]several{
		"": {"-a-b", "-p-q", "--xy", "", "--(A|)", map[string]string{"A": "apx"}, [3]string{"^-!", "^-!", "^-!"}},
	}, map[string]ofThree{
		"ZipWith3":           func(a, b, c strs) strs { return operators.ZipWith3(a, b, c, join3).Take(1) },
		"ZipSlice":           func(a, b, c strs) strs { return joined(operators.ZipSlice(a, b, c)).Take(1) },
		"CombineLatest3":     func(a, b, c strs) strs { return operators.CombineLatest3(a, b, c, join3).Take(1) },
		"CombineLatestSlice": func(a, b, c strs) strs { return joined(operators.CombineLatestSlice(a, b, c)).Take(1) },
	})
}
