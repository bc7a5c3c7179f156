package streamtest

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]diagram{
		"":                   {},
		"---":                {spans: 3 * ms},
		"--a--b|":            {marks: []mark{{2 * ms, value, "a", 3}, {5 * ms, value, "b", 6}, {6 * ms, ended, "", 7}}, spans: 7 * ms},
		"#":                  {marks: []mark{{0, failed, "", 1}}, spans: ms},
		"-(ab|)":             {marks: []mark{{ms, value, "a", 3}, {ms, value, "b", 4}, {ms, ended, "", 5}}, spans: 6 * ms},
		"-(ab)c":             {marks: []mark{{ms, value, "a", 3}, {ms, value, "b", 4}, {5 * ms, value, "c", 6}}, spans: 6 * ms},
		"- a -  - b":         {marks: []mark{{ms, value, "a", 3}, {4 * ms, value, "b", 10}}, spans: 5 * ms},
		"10ms a 1.5s b 2m |": {marks: []mark{{10 * ms, value, "a", 6}, {1511 * ms, value, "b", 13}, {2*time.Minute + 1512*ms, ended, "", 18}}, spans: 2*time.Minute + 1513*ms},
		"a 9ms":              {marks: []mark{{0, value, "a", 1}}, spans: 10 * ms},
		"0.5ms a":            {marks: []mark{{500 * time.Microsecond, value, "a", 7}}, spans: 1500 * time.Microsecond},
		"9ms":                {spans: 9 * ms},
		"a9ms":               {marks: []mark{{0, value, "a", 1}, {ms, value, "9", 2}, {2 * ms, value, "m", 3}, {3 * ms, value, "s", 4}}, spans: 4 * ms}, // as RxJS has it
		"9msa":               {marks: []mark{{0, value, "9", 1}, {ms, value, "m", 2}, {2 * ms, value, "s", 3}, {3 * ms, value, "a", 4}}, spans: 4 * ms},
		"1 2":                {marks: []mark{{0, value, "1", 1}, {ms, value, "2", 3}}, spans: 2 * ms},
		"é|":                 {marks: []mark{{0, value, "é", 1}, {ms, ended, "", 2}}, spans: 2 * ms},
		"--a--|--":           {marks: []mark{{2 * ms, value, "a", 3}, {5 * ms, ended, "", 6}}, spans: 8 * ms},
	} {
		got, err := parse(text, false)
		want.text = text
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]diagram{
		"-a-^-b":    {marks: []mark{{-2 * ms, value, "a", 2}, {2 * ms, value, "b", 6}}, spans: 3 * ms},
		"1s ^ 1s b": {marks: []mark{{1001 * ms, value, "b", 9}}, spans: 1002 * ms},
	} {
		got, err := parse(text, true)
		want.text = text
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParse_SaysWhatIsWrongAndWhere(t *testing.T) {
	for text, want := range map[string]string{
		"--a?-":            "position 4: '?' means nothing: a diagram is made of - (a frame of 1ms)",
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
		_, err := parse(text, false)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `"`+text+`"`) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := parse("--a?-", false)
	if text := err.Error(); !strings.HasSuffix(text, "\n    --a?-\n       ^") {
		t.Errorf("the position is not pointed at:\n%s", text)
	}
	if _, err := parse("-^-^", true); err == nil || !strings.Contains(err.Error(), "position 4: a second '^', after that of position 2") {
		t.Error(err)
	}
}

func TestParseSubscription(t *testing.T) {
	for text, want := range map[string]subscription{
		"^----!":     {to: 5 * ms},
		"---^":       {from: 3 * ms, open: true},
		"---^--":     {from: 3 * ms, open: true},
		"--(^!)":     {from: 2 * ms, to: 2 * ms},
		"-":          {open: true, never: true},
		"":           {open: true, never: true},
		"1s ^ 9ms !": {from: 1000 * ms, to: 1010 * ms},
	} {
		if got, err := parseSubscription(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"-!":    "there is no '^'",
		"-!^":   "position 3: '!' before '^'",
		"^-^":   "position 3: a second '^', after that of position 1",
		"^-!-!": "position 5: a second '!'",
		"^-a":   "position 3: 'a' means nothing here: a subscription has",
		"(^":    "position 1: '(' without a ')'",
	} {
		if _, err := parseSubscription(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestLetters(t *testing.T) {
	type name string
	check := func(got any, err error, want any) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	named, _ := newLetters[name](nil)
	v, err := named.value("é")
	check(v, err, name("é"))
	ints, _ := newLetters[int8](nil)
	i, err := ints.value("7")
	check(i, err, int8(7))
	uints, _ := newLetters[uint](nil)
	u, err := uints.value("0")
	check(u, err, uint(0))
	anys, _ := newLetters[any](nil)
	a, err := anys.value("a")
	check(a, err, "a")
	named, _ = newLetters([]map[string]name{{"a": "x"}})
	v, err = named.value("a")
	check(v, err, name("x"))
	v, err = named.value("b")
	check(v, err, name("b"))
	mapped, _ := newLetters([]map[string]float64{{"a": 1.5}})
	f, err := mapped.value("a")
	check(f, err, 1.5)

	wrong := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err = ints.value("a")
	wrong(err, `"a" is no digit; letters need a map[string]int8 of values`)
	_, err = mapped.value("b")
	wrong(err, `the values have no "b", only a`)
	_, err = mapped.value("m")
	wrong(err, "a time such as 10ms needs a space")
	_, err = newLetters[float64](nil)
	wrong(err, "pass a map[string]float64")
	_, err = newLetters([]map[string]int{{}, {}})
	wrong(err, "2 maps of values, want at most 1")
	_, err = newLetters([]map[string]int{{"ab": 1}})
	wrong(err, `"ab" is a key of the values, want single letters or digits`)
	d, _ := parse("-ab", false)
	_, err = resolve(d, mapped)
	wrong(err, `"-ab", position 3: the values have no "b"`)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"--a--(bc|)", "1.5s a 10ms #", "^--!", "-(a-)", "99999999999999999999s a", "((((", "\x80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse(text, true)
		if err != nil {
			return
		}
		last := d.spans - time.Duration(1<<62)
		for i, m := range d.marks {
			if m.at < last || m.at >= d.spans || m.kind != value && i != len(d.marks)-1 {
				t.Errorf("%q: mark %d is %+v of %+v", text, i, m, d)
			}
			last = m.at
		}
	})
}
