package marble

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

var errFailure = errors.New("down")

func TestParse(t *testing.T) {
	for text, want := range map[string]Diagram[string]{
		"":                   {},
		"---":                {Spans: 3 * ms},
		"--a--b|":            {Events: []Event[string]{{At: 2 * ms, Value: "a", letter: "a"}, {At: 5 * ms, Value: "b", letter: "b"}, {At: 6 * ms, Kind: End}}, Spans: 7 * ms},
		"#":                  {Events: []Event[string]{{Kind: Failure, Err: errFailure}}, Spans: ms},
		"-(ab|)":             {Events: []Event[string]{{At: ms, Value: "a", letter: "a"}, {At: ms, Value: "b", letter: "b"}, {At: ms, Kind: End}}, Spans: 6 * ms},
		"-(ab)c":             {Events: []Event[string]{{At: ms, Value: "a", letter: "a"}, {At: ms, Value: "b", letter: "b"}, {At: 5 * ms, Value: "c", letter: "c"}}, Spans: 6 * ms},
		"- a -  - b":         {Events: []Event[string]{{At: ms, Value: "a", letter: "a"}, {At: 4 * ms, Value: "b", letter: "b"}}, Spans: 5 * ms},
		"10ms a 1.5s b 2m |": {Events: []Event[string]{{At: 10 * ms, Value: "a", letter: "a"}, {At: 1511 * ms, Value: "b", letter: "b"}, {At: 2*time.Minute + 1512*ms, Kind: End}}, Spans: 2*time.Minute + 1513*ms},
		"a 9ms":              {Events: []Event[string]{{Value: "a", letter: "a"}}, Spans: 10 * ms},
		"0.5ms a":            {Events: []Event[string]{{At: 500 * time.Microsecond, Value: "a", letter: "a"}}, Spans: 1500 * time.Microsecond},
		"9ms":                {Spans: 9 * ms},
		"a9ms":               {Events: []Event[string]{{Value: "a", letter: "a"}, {At: ms, Value: "9", letter: "9"}, {At: 2 * ms, Value: "m", letter: "m"}, {At: 3 * ms, Value: "s", letter: "s"}}, Spans: 4 * ms}, // as in RxJS
		"9msa":               {Events: []Event[string]{{Value: "9", letter: "9"}, {At: ms, Value: "m", letter: "m"}, {At: 2 * ms, Value: "s", letter: "s"}, {At: 3 * ms, Value: "a", letter: "a"}}, Spans: 4 * ms},
		"1 2":                {Events: []Event[string]{{Value: "1", letter: "1"}, {At: ms, Value: "2", letter: "2"}}, Spans: 2 * ms},
		"é|":                 {Events: []Event[string]{{Value: "é", letter: "é"}, {At: ms, Kind: End}}, Spans: 2 * ms},
		"--a--|--":           {Events: []Event[string]{{At: 2 * ms, Value: "a", letter: "a"}, {At: 5 * ms, Kind: End}}, Spans: 8 * ms},
	} {
		got, err := Parse[string](text, false, nil, errFailure)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]Diagram[string]{
		"-a-^-b":    {Events: []Event[string]{{At: -2 * ms, Value: "a", letter: "a"}, {At: 2 * ms, Value: "b", letter: "b"}}, Spans: 3 * ms},
		"1s ^ 1s b": {Events: []Event[string]{{At: 1001 * ms, Value: "b", letter: "b"}}, Spans: 1002 * ms},
	} {
		got, err := Parse[string](text, true, nil, errFailure)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParse_SaysWhatIsWrongAndWhere(t *testing.T) {
	for text, want := range map[string]string{
		"--a?-":            "position 4: '?' has no meaning: a diagram consists of - (a frame of 1ms)",
		"--(ab":            "position 3: '(' without a ')'",
		"--ab)":            "position 5: ')' without a '('",
		"-(a(b))":          "position 4: a second '(', while that of position 2 is open",
		"-()":              "position 3: nothing inside ( )",
		"-(a-b)":           "position 4: '-' inside ( ), which is one instant",
		"( 1s a)":          "position 3: a time inside ( )",
		"a|b":              "position 3: 'b' comes after the end at position 2",
		"a#|":              "position 3: '|' comes after the end at position 2",
		"-^-a":             "position 2: '^' is for the diagrams of hot sources and of subscriptions",
		"9999999999999m -": "position 1: the diagram lasts longer than 876000h0m0s",
		"-a-!":             "position 4: '!' is for the diagrams of subscriptions",
	} {
		_, err := Parse[string](text, false, nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `"`+text+`"`) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := Parse[string]("--a?-", false, nil, nil)
	if text := err.Error(); !strings.HasSuffix(text, "\n    --a?-\n       ^") {
		t.Errorf("the position is not pointed at:\n%s", text)
	}
	if _, err := Parse[string]("-^-^", true, nil, nil); err == nil || !strings.Contains(err.Error(), "position 4: a second '^', after that of position 2") {
		t.Error(err)
	}
}

func TestParseSubscription(t *testing.T) {
	for text, want := range map[string]Subscription{
		"^----!":     {To: 5 * ms},
		"---^":       {From: 3 * ms, Open: true},
		"---^--":     {From: 3 * ms, Open: true},
		"--(^!)":     {From: 2 * ms, To: 2 * ms},
		"-":          {Open: true, Never: true},
		"":           {Open: true, Never: true},
		"-!":         {To: ms, Never: true},
		"1s ^ 9ms !": {From: 1000 * ms, To: 1010 * ms},
	} {
		if got, err := ParseSubscription(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"-!^":   "position 3: '!' before '^'",
		"^-^":   "position 3: a second '^', after that of position 1",
		"^-!-!": "position 5: a second '!'",
		"^-!a":  "position 4: 'a' has no meaning here: a subscription has",
		"^-a":   "position 3: 'a' has no meaning here: a subscription has",
		"(^":    "position 1: '(' without a ')'",
	} {
		if _, err := ParseSubscription(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestValueOf(t *testing.T) {
	type name string
	check := func(got any, err error, want any) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	v, err := valueOf[name]("é", nil)
	check(v, err, name("é"))
	v, err = valueOf("a", map[string]name{"a": "x"})
	check(v, err, name("x"))
	v, err = valueOf("b", map[string]name{"a": "x"})
	check(v, err, name("b"))
	i, err := valueOf[int8]("7", nil)
	check(i, err, int8(7))
	u, err := valueOf[uint]("0", nil)
	check(u, err, uint(0))
	u, err = valueOf[uint]("9", nil)
	check(u, err, uint(9))
	a, err := valueOf[any]("a", nil)
	check(a, err, "a")
	f, err := valueOf("a", map[string]float64{"a": 1.5})
	check(f, err, 1.5)

	wrong := func(err error, want string) {
		t.Helper()
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err = valueOf[int8]("a", nil)
	wrong(err, `the values have no "a"; without a map[string]int8 of values letters stand for themselves in streams of strings, and digits in those of integers`)
	_, err = valueOf[fmt.Stringer]("b", nil)
	wrong(err, `the values have no "b"; without a map[string]fmt.Stringer of values letters stand for themselves in streams of strings, and digits in those of integers`)
	if _, err := valueOf[float64]("1", nil); err == nil {
		t.Error("a digit is no float64, and has no error")
	}
	_, err = valueOf("m", map[string]float64{"b": 1, "a": 1.5})
	wrong(err, `the values have no "m", only a b; without a map[string]float64 of values letters stand for themselves in streams of strings, and digits in those of integers; a time such as 10ms needs a space, or the diagram's start or end, on both sides`)

	for text, want := range map[string]string{"-ab": `"-ab", position 3: the values have no "b", only a`, "-": ""} {
		if _, err := Parse(text, false, map[string]float64{"a": 1.5}, nil); want == "" && err != nil || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Parse("-", false, map[string]int{"ab": 1}, nil); err == nil || err.Error() != `"ab" is a key of the values, want single letters or digits` {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"--a--(bc|)", "1.5s a 10ms #", "^--!", "-(a-)", "99999999999999999999s a", "((((", "\x80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse[string](text, true, nil, nil)
		if err != nil {
			return
		}
		last := d.Spans - time.Duration(1<<62)
		for i, m := range d.Events {
			if m.At < last || m.At >= d.Spans || m.Kind != Value && i != len(d.Events)-1 {
				t.Errorf("%q: event %d is %+v of %+v", text, i, m, d)
			}
			last = m.At
		}
	})
}
