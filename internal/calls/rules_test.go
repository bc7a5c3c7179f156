package calls

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

const ms = time.Millisecond

// asking is a run of a way whose requests come after these waits.
func asking(w Way, waits ...time.Duration) *Run {
	r := &Run{Way: w}
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range len(waits) + 1 {
		if i > 0 {
			at = at.Add(waits[i-1])
		}
		a := w.answer(i + 1)
		_, until := a.retryAfter(at)
		r.requests = append(r.requests, Request{At: at, over: at, Name: "GET /", answer: a, until: until, header: http.Header{}})
		if a.status == 0 && a.fate == whole {
			r.served++
		}
	}
	return r
}

// way returns a way by its name.
func way(name string) Way {
	all := Ways(true)
	return all[slices.IndexFunc(all, func(w Way) bool { return w.Name == name })]
}

func kindsOf(all []judge.Fault) string {
	var kinds []string
	for _, f := range all {
		kinds = append(kinds, f.Kind)
	}
	return strings.Join(kinds, " ")
}

// Each threshold of a rule, and what is just on its other side.
func TestRules_Thresholds(t *testing.T) {
	repeat := slices.Repeat[[]time.Duration]
	throughout := way(Throughout)
	real, virtual := Rules{Most: 15, Within: 30 * time.Second}, Rules{Most: 15, Within: time.Hour, Virtual: true}
	for _, test := range []struct {
		name  string
		rules Rules
		run   *Run
		want  string
	}{
		{"three waits of 10 ms", real, asking(throughout, 10*ms, 10*ms, 10*ms), "hot"},
		{"two", real, asking(throughout, 10*ms, 10*ms), ""},
		{"a longer one among them", real, asking(throughout, 10*ms, 10*ms, 11*ms), ""},
		{"three waits of 6 ms in virtual time", virtual, asking(throughout, 6*ms, 6*ms, 6*ms), ""},
		{"of 5 ms", virtual, asking(throughout, 5*ms, 5*ms, 5*ms), "hot"},
		{"six in a row", real, asking(throughout, time.Second, ms, ms, ms, ms, ms, ms), "hot"},
		{"five in a row", real, asking(throughout, time.Second, ms, ms, ms, ms, ms, time.Second), ""},
		{"26 in 2 s", Rules{Most: 100}, asking(throughout, repeat([]time.Duration{80 * ms}, 25)...), "hot"},
		{"25 in 2 s", Rules{Most: 100}, asking(throughout, repeat([]time.Duration{82 * ms}, 25)...), ""},
		{"16 in 30 s", real, asking(throughout, repeat([]time.Duration{2 * time.Second}, 15)...), "storm"},
		{"15 in 30 s", real, asking(throughout, repeat([]time.Duration{2200 * ms}, 15)...), ""},
		{"no wait after Retry-After 0", real, asking(way(noWait), 0, 0, 0), ""},
		{"a wait of five minutes", virtual, asking(throughout, 5*time.Minute), ""},
		{"a longer one", virtual, asking(throughout, 5*time.Minute+ms), "cap"},
		{"in half a minute it is not judged", real, asking(throughout, 5*time.Minute+ms), ""},
		{"it was told to", virtual, asking(way("Retry-After a day"), 24*time.Hour), ""},
		{"20 ms early", real, asking(way("Retry-After 3 s (503)"), 2980*ms), ""},
		{"21 ms early", real, asking(way("Retry-After 3 s (503)"), 2979*ms), "early"},
		{"1 ms early", virtual, asking(way("Retry-After 3 s (429)"), 2999*ms), ""},
		{"2 ms early", virtual, asking(way("Retry-After 3 s (429)"), 2998*ms), "early"},
		{"at the date", virtual, asking(way("Retry-After a date"), 3*time.Second), ""},
		{"before the date", virtual, asking(way("Retry-After a date"), 2900*ms), "early"},
		{"404 again", real, asking(way("404"), time.Second), "vain"},
		{"409 again", real, asking(way("409"), time.Second), ""},
		{"401 again", real, asking(way("401"), time.Second), "vain"},
	} {
		if got := kindsOf(test.rules.Faults(test.run)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestRules_Again(t *testing.T) {
	post := func(name string, change func(was, now *Request)) *Run {
		r := asking(way(name), time.Second)
		for i := range r.requests {
			r.requests[i].Name = "POST /orders"
		}
		change(&r.requests[0], &r.requests[1])
		return r
	}
	same := func(*Request, *Request) {}
	for _, test := range []struct {
		name string
		run  *Run
		want string
	}{
		{"500", post("500", same), "unsafe"}, {"502", post("502", same), "unsafe"}, {"504", post("504", same), "unsafe"},
		{"408", post("408", same), ""}, {"429", post("429", same), ""}, {"503", post(twice503, same), ""}, {"kept", post(kept, same), ""},
		{"reset", post("reset", same), "unsafe"}, {"closed", post("closed", same), "unsafe"}, {"cut", post("answer cut, reset", same), "unsafe"},
		{"silence", post(Silence, same), "unsafe"},
		{"a key", post("500", func(was, now *Request) { was.key, now.key = "k", "k" }), ""},
		{"another key", post("500", func(was, now *Request) { was.key, now.key = "k", "l" }), "unsafe"},
		{"a key the first time", post("500", func(was, now *Request) { was.key = "k" }), "unsafe"},
		{"a GET", asking(way("500"), time.Second), ""},
		{"a PATCH", post("500", func(was, now *Request) { was.Name, now.Name = "PATCH /", "PATCH /" }), "unsafe"},
		{"another body", post("429", func(was, now *Request) { now.body[0] = 1 }), "body"},
		{"a header less", post("429", func(was, now *Request) { was.header = http.Header{"X-Tenant": {"a"}} }), "body"},
		{"a header more", post("429", func(was, now *Request) { now.header = http.Header{"X-Tenant": {"a"}} }), ""},
		{"a header of the connection less", post("429", func(was, now *Request) { was.header = http.Header{"Upgrade": {"h2c"}, "Http2-Settings": {""}} }), ""},
		{"another authorization", post("401", func(was, now *Request) { now.header = http.Header{"Authorization": {"b"}} }), ""},
		{"a refresh between them", post("401", func(was, now *Request) { now.Others = 1 }), ""},
		{"a refresh after 403", post("403", func(was, now *Request) { now.Others = 1 }), "vain"},
	} {
		if got := kindsOf(Rules{Most: 15}.Faults(test.run)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if got := kindsOf(Rules{Most: 15, Idempotent: true}.Faults(post("500", same))); got != "" {
		t.Errorf("got %q although it is idempotent", got)
	}
}

func TestRules_End(t *testing.T) {
	returned := func(name, result string, err error) *Run {
		r := asking(way(name))
		r.Returned, r.Result, r.Err = true, result, err
		return r
	}
	failed := errors.New("failed")
	unanswered := asking(way(Silence))
	unanswered.requests[0].over = time.Time{}
	late, deadline := returned(Silence, "", nil), asking(way("silence, a deadline of 10s"))
	late.Returned, late.Late, deadline.Late = false, true, true
	three := returned("three calls, kept connection closed", "", failed)
	left, open, one := returned("400", "", failed), returned("400", "", failed), returned("400", "", failed)
	left.Left, open.Open, one.Open = []string{"main.go:1"}, 2, 1
	for _, test := range []struct {
		name  string
		rules Rules
		run   *Run
		want  string
	}{
		{"no answer", Rules{}, unanswered, "silent"},
		{"late", Rules{Stop: time.Second}, late, "late: it has not returned 1s after it was told to end"},
		{"after a deadline", Rules{Stop: time.Second}, deadline, "late: it has not returned 1s after its deadline of 10s"},
		{"an error", Rules{}, returned("503 throughout", "", failed), ""},
		{"no error", Rules{}, returned("503 throughout", "", nil), "swallowed"},
		{"half", Rules{Expected: "whole"}, returned("answer cut, closed", "wh", nil), "half"},
		{"half is an error", Rules{Expected: "whole"}, returned("answer cut, closed", "wh", failed), ""},
		{"the result is constant", Rules{Expected: "done"}, returned("answer cut, closed", "done", nil), ""},
		{"a kept connection", Rules{Recovers: true}, returned(kept, "", failed), "stale"},
		{"it does not retry 503", Rules{}, returned(kept, "", failed), ""},
		{"the second call", Rules{}, three, "stale"},
		{"goroutines", Rules{}, left, "left: it has returned and left 1 goroutine running: main.go:1"},
		{"two connections", Rules{}, open, "open"},
		{"one connection", Rules{}, one, ""},
	} {
		test.rules.Most = 15
		found := test.rules.Faults(test.run)
		got := kindsOf(found)
		if strings.Contains(test.want, ": ") && got != "" {
			got += ": " + found[0].What
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// Three of five runs must be alike in two waits, by 15 ms and 2 % in real time.
func TestRules_Jitter(t *testing.T) {
	w := way(Throughout)
	for _, test := range []struct {
		name  string
		rules Rules
		waits [][]time.Duration
		want  string
	}{
		{"three alike", Rules{}, [][]time.Duration{{1000 * ms, 2000 * ms}, {1015 * ms, 2015 * ms}, {990 * ms, 1990 * ms}, {1500 * ms, 2500 * ms}, {700 * ms, 2700 * ms}}, "jitter"},
		{"two alike", Rules{}, [][]time.Duration{{1000 * ms, 2000 * ms}, {1000 * ms, 2000 * ms}, {1500 * ms, 2500 * ms}}, ""},
		{"in one wait", Rules{}, [][]time.Duration{{1000 * ms, 2000 * ms}, {1000 * ms, 2500 * ms}, {1000 * ms, 3500 * ms}}, ""},
		{"by 16 ms", Rules{}, [][]time.Duration{{1000 * ms, 2000 * ms}, {1016 * ms, 2000 * ms}, {1032 * ms, 2000 * ms}}, ""},
		{"by 2 %", Rules{}, [][]time.Duration{{98 * ms, 196 * ms}, {100 * ms, 200 * ms}, {102 * ms, 204 * ms}}, "jitter"},
		{"by 3 %", Rules{}, [][]time.Duration{{100 * ms, 200 * ms}, {103 * ms, 206 * ms}, {106 * ms, 212 * ms}}, ""},
		{"two are too short", Rules{}, [][]time.Duration{{1000 * ms}, {1000 * ms}, {1000 * ms, 2000 * ms}, {1000 * ms, 2000 * ms}}, ""},
		{"one is too short", Rules{}, [][]time.Duration{{1000 * ms}, {1000 * ms, 2000 * ms}, {1000 * ms, 2000 * ms}, {1000 * ms, 2000 * ms}}, "jitter"},
		{"no wait before one", Rules{}, [][]time.Duration{{0, 1000 * ms}, {0, 1000 * ms}, {0, 1000 * ms}}, ""},
		{"a nanosecond in virtual time", Rules{Virtual: true}, [][]time.Duration{{time.Second, 2 * time.Second}, {time.Second, 2*time.Second + time.Microsecond}, {time.Second, 2*time.Second - time.Microsecond}}, ""},
		{"alike in virtual time", Rules{Virtual: true}, [][]time.Duration{{time.Second, 2 * time.Second}, {time.Second, 2 * time.Second}, {time.Second, 2 * time.Second}}, "jitter"},
		{"it is meant", Rules{NoJitter: true}, [][]time.Duration{{time.Second, 2 * time.Second}, {time.Second, 2 * time.Second}, {time.Second, 2 * time.Second}}, ""},
	} {
		var runs []*Run
		for _, waits := range test.waits {
			runs = append(runs, asking(w, waits...))
		}
		if _, found := test.rules.Jitter(runs); kindsOf(found) != test.want {
			t.Errorf("%s: got %v, want %q", test.name, found, test.want)
		}
	}
}

// What a machine that stood still has hidden is no finding, but is told: a wait that is none, and equal waits. What it
// cannot have hidden is not told.
func TestVerdict_Hidden(t *testing.T) {
	stood := func(r *Run, all ...time.Duration) *Run {
		for i := range r.requests {
			r.requests[i].stood = all[i]
		}
		return r
	}
	undisturbed, throughout := asking(Way{Name: Undisturbed}), way(Throughout)
	slow := stood(asking(throughout, 10*ms, 40*ms, 10*ms), 0, 0, 30*ms, 30*ms)
	normal := Rules{Most: 15}
	long := func(first time.Duration) *Run { return asking(throughout, first, 3*time.Second) }
	third := func(s time.Duration) *Run { return asking(throughout, time.Second, 3*time.Second, s*time.Second) }
	late := func() *Run { return stood(long(1100*ms), 0, 85*ms, 85*ms) }
	equal := []*Run{long(time.Second), long(time.Second), long(time.Second), long(1100 * ms)}
	for _, test := range []struct {
		name        string
		rules       Rules
		runs, again []*Run
		want, found string
	}{
		{"no wait", normal, []*Run{slow}, nil, "hot", ""},
		{"a wait", normal, []*Run{stood(asking(throughout, 10*ms, 40*ms, 10*ms), 0, 0, 29*ms, 59*ms)}, nil, "", ""},
		{"no wait is found elsewhere", normal, []*Run{slow, asking(throughout, 0, 0, 0), asking(throughout, 0, 0, 0)}, nil, "", "hot"},
		{"equal waits", normal, []*Run{long(time.Second), long(time.Second), late()}, nil, "jitter", ""},
		{"unequal ones", normal, []*Run{long(time.Second), long(time.Second), stood(long(1100*ms), 0, 84*ms, 84*ms)}, nil, "", ""},
		{"the shorter one was late", normal, []*Run{stood(long(time.Second), 0, ms*500, ms*500), stood(long(time.Second), 0, ms*500, ms*500), long(1100 * ms)}, nil, "", ""},
		{"equal waits are meant", Rules{Most: 15, NoJitter: true}, []*Run{long(time.Second), long(time.Second), late()}, nil, "", ""},
		{"equal waits in all runs", normal, equal[:3], nil, "", "jitter"},
		{"equal waits again", normal, equal, []*Run{equal[0], asking(way("400")), {Way: throughout, Stuck: fault("", "", "")}, equal[1]}, "", "jitter"},
		{"most are equal in one pair", normal, []*Run{third(7), third(5), third(5), third(5), long(1100 * ms)}, []*Run{third(9)}, "", "jitter"},
		{"again only once", normal, equal, equal[2:], "", ""},
		{"late again", normal, equal, []*Run{long(time.Second), late()}, "jitter", ""},
		{"a storm is no such kind", Rules{Most: 1}, []*Run{asking(throughout, time.Second, 3*time.Second)}, nil, "", ""},
	} {
		v := Judge(test.rules, append([]*Run{undisturbed}, test.runs...))
		for _, r := range test.again {
			v.Add(r)
		}
		var found strings.Builder
		for _, f := range v.Certain() {
			found.WriteString(f.Kind)
		}
		if got := strings.Join(v.Hidden(), " "); got != test.want || found.String() != test.found {
			t.Errorf("%s: got %q hidden, %q found, want %q, %q", test.name, got, found.String(), test.want, test.found)
		}
	}
}

// In real time, the way of a kind that one run has shown is played again, and the kind is certain if that shows it too.
func TestVerdict_Uncertain(t *testing.T) {
	undisturbed, hot, right := asking(Way{Name: Undisturbed}), asking(way(Throughout), 0, 0, 0), asking(way(Throughout), time.Second)
	v := Judge(Rules{Most: 15}, []*Run{undisturbed, hot, right})
	for range 2 {
		if ways := v.Uncertain(); len(ways) != 1 || ways[0].Name != Throughout || len(v.Certain()) > 0 {
			t.Errorf("got %v, and %v is certain", ways, v.Certain())
		}
		v.Add(right)
	}
	v.Add(hot)
	if all := v.Certain(); len(all) != 1 || all[0].Kind != "hot" || all[0].Shown != 2 || len(v.Uncertain()) > 0 {
		t.Errorf("got %v, and %v is uncertain", all, v.Uncertain())
	}
	if v := Judge(Rules{Most: 15, Virtual: true}, []*Run{undisturbed, hot}); len(v.Certain()) != 1 || len(v.Uncertain()) > 0 {
		t.Errorf("in virtual time: got %v, and %v is uncertain", v.Certain(), v.Uncertain())
	}
}

// A jitter of 100 ms makes waits of three of five runs equal in one of eleven measurements. Few are found when two more must be equal.
func TestVerdict_SmallJitterIsSeldomBlamed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() *Run {
		return asking(way(Throughout), time.Second+time.Duration(random.Int64N(1e8)), 2*time.Second+time.Duration(random.Int64N(1e8)))
	}
	again, blamed := 0, 0
	for range 1000 {
		v := Judge(Rules{Most: 15}, []*Run{asking(Way{Name: Undisturbed}), draw(), draw(), draw(), draw(), draw()})
		for range v.Uncertain() {
			again++
			v.Add(draw())
		}
		blamed += len(v.Certain())
	}
	if again < 100 || blamed > 5 {
		t.Errorf("got %d again, %d certain", again, blamed)
	}
}

// Equal waits are the program's, whatever the machine did.
func TestVerdict_Pressed(t *testing.T) {
	waiting := func(waits ...time.Duration) *Run { return asking(way(Throughout), waits...) }
	one, two, hot := waiting(time.Second, 2*time.Second), waiting(1300*ms, 2100*ms), waiting(0, 0, 0)
	for _, test := range []struct {
		name        string
		runs, again []*Run
		part        float64
		want        bool
	}{
		{"equal waits", []*Run{one, one, one, two}, nil, 1, false},
		{"equal waits again", []*Run{one, one, one, two}, []*Run{one, one}, 1, false},
		{"other ones again", []*Run{one, one, one, two}, []*Run{one, two}, 0.31, true},
		{"other ones again, with time", []*Run{one, one, one, two}, []*Run{one, two}, 0.3, false},
		{"other ones", []*Run{one, one, two}, nil, 0.91, true},
		{"other ones, with time", []*Run{one, one, two}, nil, 0.9, false},
		{"one wait", []*Run{waiting(time.Second), waiting(2 * time.Second)}, nil, 1, false},
		{"no waits", []*Run{hot, hot, one}, nil, 1, false},
	} {
		v := Judge(Rules{Most: 15, NoJitter: true}, append([]*Run{asking(Way{Name: Undisturbed})}, test.runs...))
		for _, r := range test.again {
			v.Add(r)
		}
		if got := v.Pressed(test.part); got != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
}

// A run that cannot be judged says so, and is not among those from which the policy is.
func TestVerdict_Stuck(t *testing.T) {
	stuck := &Run{Way: way(Throughout), Stuck: fault("cannot-be-judged", "", "it stands still")}
	v := Judge(Rules{Most: 15}, []*Run{asking(Way{Name: Undisturbed}), stuck})
	if rows := v.Rows(); rows[1].How != "cannot be judged" || rows[1].Requests != 0 {
		t.Errorf("got %+v", rows)
	}
	if p := v.Policy(); p.Text != "" || p.Why != "no run in which a failure goes on could be judged" {
		t.Errorf("got %+v", p)
	}
	v = Judge(Rules{Most: 15}, []*Run{asking(Way{Name: Undisturbed}), stuck, asking(way(Throughout), time.Second, 2*time.Second)})
	if p := v.Policy(); !strings.HasPrefix(p.Why, "2 waits in each of 1 run of 503 throughout; ") {
		t.Errorf("got %+v", p)
	}
}

// A run that was told to end has no result and no error, even if the program has returned one since. A long result is
// shortened where it is quoted.
func TestRun_Row(t *testing.T) {
	r := asking(way(Throughout), time.Second)
	r.Result, r.Err = "a", errors.New("told to end")
	if row := r.Row(); row.Result != "" || row.Error != "" || !strings.HasPrefix(row.How, "goes on after ") {
		t.Errorf("got %+v", row)
	}
	swallowed := asking(way(Throughout))
	if how := swallowed.Row().How; !strings.HasPrefix(how, "still waits after ") {
		t.Error(how)
	}
	swallowed.Returned, swallowed.Result = true, strings.Repeat("a", 40)+strings.Repeat("b", 40)
	all := Rules{Most: 15}.Faults(swallowed)
	if want := `but "aaaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbb"`; len(all) != 1 || !strings.HasSuffix(all[0].What, want) {
		t.Errorf("got %v, want %s", all, want)
	}
}
