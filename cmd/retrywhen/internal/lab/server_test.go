package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

const here = "127.0.0.1:8080"

// ask returns the response to a request.
func ask(t *testing.T, target string, change func(*http.Request)) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	r.Host = here
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	Handler(here, "localhost:8080").ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	noError(t, err)
	return string(b)
}

func TestHandlerServesThePage(t *testing.T) {
	for path, kind := range map[string]string{"/": "text/html", "/app.js": "text/javascript", "/app.css": "text/css", "/app.licenses.txt": "text/plain"} {
		r := ask(t, path, nil)
		if r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), kind) || len(body(t, r)) == 0 {
			t.Errorf("%s: %s, %s", path, r.Status, r.Header.Get("Content-Type"))
		}
		if policy := r.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self';") {
			t.Errorf("%s: %s", path, policy)
		}
	}
}

func TestHandlerRefuses(t *testing.T) {
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	tests := map[string]struct {
		target string
		change func(*http.Request)
		want   int
	}{
		"its own host":         {"/", nil, 200},
		"its other name":       {"/", host("localhost:8080"), 200},
		"its name in capitals": {"/", host("LOCALHOST:8080"), 200},
		"another host":         {"/", host("evil.example:8080"), http.StatusMisdirectedRequest},
		"another host's API":   {"/api/outage", host("evil.example"), http.StatusMisdirectedRequest},
		"another port":         {"/", host("127.0.0.1:80"), http.StatusMisdirectedRequest},
		"no host":              {"/", host(""), http.StatusMisdirectedRequest},
		"its own origin":       {"/api/state", header("Origin", "http://"+here), 200},
		"another origin":       {"/api/state", header("Origin", "http://evil.example"), http.StatusForbidden},
		"a secure origin":      {"/api/state", header("Origin", "https://"+here), http.StatusForbidden},
		"the null origin":      {"/api/state", header("Origin", "null"), http.StatusForbidden},
		"two origins":          {"/api/state", func(r *http.Request) { r.Header["Origin"] = []string{"http://" + here, "http://evil.example"} }, http.StatusForbidden},
		"another site":         {"/api/outage", header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"another port's page":  {"/api/outage", header("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		"a link from a site":   {"/?load=10", header("Sec-Fetch-Site", "cross-site"), 200},
		"typed by its user":    {"/api/state", header("Sec-Fetch-Site", "none"), 200},
		"a post":               {"/api/outage", func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
		"no such page":         {"/index.htm", nil, http.StatusNotFound},
		"no such numbers":      {"/api/nothing", nil, http.StatusNotFound},
		"a way up":             {"/..%2fserver.go", nil, http.StatusNotFound},
		"a long query":         {"/api/state?s=" + strings.Repeat("a", MaxQuery), nil, http.StatusRequestURITooLong},
		"a bad query":          {"/api/state?a=%zz", nil, http.StatusBadRequest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if r := ask(t, test.target, test.change); r.StatusCode != test.want {
				t.Errorf("%s, want %d: %s", r.Status, test.want, body(t, r))
			}
		})
	}
}

// A refusal names what is wrong, and what would be right.
func TestHandlerSaysWhyItRefuses(t *testing.T) {
	for want, change := range map[string]func(*http.Request){
		`the host is "evil.example", want 127.0.0.1:8080 or localhost:8080`: func(r *http.Request) { r.Host = "evil.example" },
		`the origin is "http://evil.example", want this page's`:             func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"the request comes from another site, want this page's":             func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"Target: first wait at most: 1ms, want at least 1s, because a job may wait for a second before its first retry, or 0 for no target": func(r *http.Request) {
			r.URL.Path, r.URL.RawQuery = "/api/choose", "tab=choose&wait=1ms"
		},
		fmt.Sprintf("the query has %d bytes, want at most %d", MaxQuery+1, MaxQuery): func(r *http.Request) { r.URL.RawQuery = strings.Repeat("a", MaxQuery+1) },
	} {
		var got struct{ Error string }
		if err := json.Unmarshal([]byte(body(t, ask(t, "/api/state", change))), &got); err != nil || got.Error != want {
			t.Errorf("%v, %q, want %q", err, got.Error, want)
		}
	}
}

// A number that JSON does not have is an error, not half a response.
func TestHandlerCannotEncode(t *testing.T) {
	w := httptest.NewRecorder()
	write(w, http.StatusOK, math.Inf(1))
	var got struct{ Error string }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusInternalServerError || !strings.Contains(got.Error, "+Inf") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestHandlerIsBusy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	(&server{turns: make(chan struct{})}).numbers(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/state", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "too many simulations are running") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// A ninth policy is left out. A word without effect on a tab is named there.
func TestStatePolicies(t *testing.T) {
	query := url.Values{"tab": {"choose"}}
	for i := range report.MaxStrategies + 2 {
		query.Add("s", fmt.Sprintf("linear d=%ds budget=10,1,0.1", i+1))
	}
	s, problems := ParseState(query)
	if len(s.Strategies) != report.MaxStrategies || len(problems) != 1 || problems[0].Strategy != report.MaxStrategies || problems[0].Message != "10 policies, want at most 8" {
		t.Errorf("%d policies, %+v", len(s.Strategies), problems)
	}
	d := describe(s, nil)
	if !strings.Contains(d.Strategies[0].Formula, "; budget=10,1,0.1 has no effect here: ") {
		t.Errorf("%+v", d.Strategies[0])
	}
}

func TestHandlerBoundsTheWork(t *testing.T) {
	many := strings.Repeat("&s="+url.QueryEscape("constant d=1s"), report.MaxStrategies+1)
	tests := map[string]struct {
		parameter string
		strategy  int
		word      string
		says      string
	}{
		"tab=other":                            {"tab", 0, "", "want recover, choose or outage"},
		"load=501":                             {"load", 0, "", "from 1 to 500"},
		"watch=1s":                             {"watch", 0, "", "from 45s to 20m0s"},
		"fleet=0":                              {"fleet", 0, "", "from 1 to 10000"},
		"load=0":                               {"load", 0, "", "want a whole number from 1"},
		"load=1e3":                             {"load", 0, "", `Operations per second is "1e3"`},
		"load=1&load=2":                        {"load", 0, "", "want"},
		"affected=2001":                        {"affected", 0, "", "from 1 to 2000"},
		"capacity=0":                           {"capacity", 0, "", "from 1 to 100000"},
		"down=61m":                             {"down", 0, "", "from 0s to 1h0m0s"},
		"down=-1s":                             {"down", 0, "", "from 0s"},
		"timeout=2m":                           {"timeout", 0, "", "from 0s to 1m0s"},
		"seed=-1":                              {"seed", 0, "", "from 0"},
		"s=" + many[3:]:                        {"s", 1, "", "there are two policies"},
		"s=exponental":                         {"s", 0, "exponental", `"exponental": unknown curve; did you mean exponential?`},
		"s=linear+d=1s+place=up":               {"s", 0, "", "want place=one-process or place=by-ordinal"},
		"s=linear+d=1s&s=linear+d=1s":          {"s", 1, "", "there are two policies"},
		"s=linear+d=1s&s=m:+linear+d=1s+cap=x": {"s", 1, "cap=x", `"cap=x": "x" is not a duration`},
		"s=linear+d=1s+limt=5":                 {"s", 0, "limt=5", `"limt=5": unknown word; did you mean limit?`},
		"s=" + strings.Repeat("a", 1001):       {"s", 0, "", "has 1001 bytes, want at most 1000"},
		"load=" + strings.Repeat("9", 2000):    {"load", 0, "", "want"},
		"s=linear+d=1s+proceses=5":             {"s", 0, "proceses=5", "did you mean processes?"},
		"s=linear+d=1s+zzz=5":                  {"s", 0, "zzz=5", "a strategy also takes processes, layers and place"},
	}
	for query, test := range tests {
		r := ask(t, "/api/outage?"+query, nil)
		var refused struct{ Error string }
		text := body(t, r)
		if err := json.Unmarshal([]byte(text), &refused); err != nil || r.StatusCode != http.StatusBadRequest {
			t.Errorf("%.60s: %s, %s", query, r.Status, text)
		}
		if !strings.Contains(refused.Error, test.says) || len(refused.Error) > 1000 {
			t.Errorf("%.60s says %q, want %q", query, refused.Error, test.says)
		}
		values, err := url.ParseQuery(query)
		noError(t, err)
		_, problems := ParseState(values)
		if p := problems[0]; p.Parameter != test.parameter || p.Strategy != test.strategy || p.Word != test.word || p.Message != refused.Error {
			t.Errorf("%.60s: %+v, want %+v", query, p, test)
		}
	}
}

// Invalid parts of an address are ignored and reported.
func TestStateIgnoresInvalidParameters(t *testing.T) {
	for query, want := range map[string]string{
		strings.Repeat("x", 2*maxParameter) + "=": "",
		"utm_source=news&load=7":                  "load=7",
		"load=x&rate=3":                           "rate=3",
		"s=linear+d=1s&s=liner&s=constant+d=1s":   "s=linear+d=1s&s=constant+d=1s",
		"s=liner":                                 "",
	} {
		values, err := url.ParseQuery(query)
		noError(t, err)
		s, problems := ParseState(values)
		if values, err = url.ParseQuery(want); err != nil {
			t.Fatal(err)
		}
		if right, none := ParseState(values); s.Query().Encode() != right.Query().Encode() || len(problems) != 1 || len(none) != 0 {
			t.Errorf("%.60s: %s, %+v", query, s.Query().Encode(), problems)
		}
		r := ask(t, "/api/state?"+query, nil)
		if text := body(t, r); r.StatusCode != http.StatusOK || !strings.Contains(text, `"problems":[{"parameter":`) {
			t.Errorf("%.60s: %s %s", query, r.Status, text)
		}
	}
}

// The limits of a parameter are valid. What is beyond them is refused with what would be right.
func TestStateLimits(t *testing.T) {
	for name, test := range map[string]struct{ right, wrong, want string }{
		"y":        {"own shared", "both", "Own scales is %q, want own or shared"},
		"load":     {"1 500", "0 501 x", "Operations per second is %q, want a whole number from 1 to 500"},
		"stall":    {"0s 1m0s", "-1ns 1m1s 5", "Standstill is %q, want a duration from 0s to 1m0s"},
		"watch":    {"45s 20m0s", "44s 20m1s", "Simulation end is %q, want a duration from 45s to 20m0s"},
		"failures": {"0% 100%", "-1% 101% NaN", "Random failures is %q, want a share from 0% to 100%"},
		"outages":  {"0s 10m0s 1s,1s,1s,1s,1s,1s", "-1s 10m1s 1s,1s,1s,1s,1s,1s,1s 1s,", "Outage lengths is %q, want one to 6 durations up to 10m, as in 2s,1m"},
		"seed":     {"0 4294967295", "-1 4294967296", "Seed is %q, want a whole number from 0 to 4294967295"},
	} {
		for text := range strings.FieldsSeq(test.right) {
			s, problems := ParseState(url.Values{name: {text}})
			at := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
			if got := fields[at].text(&s); got != text || len(problems) > 0 {
				t.Errorf("%s=%s is read as %s, %v", name, text, got, problems)
			}
		}
		for text := range strings.FieldsSeq(test.wrong) {
			_, problems := ParseState(url.Values{name: {text}})
			if want := strings.Replace(test.want, "%q", fmt.Sprintf("%q", text), 1); len(problems) != 1 || problems[0].Message != want {
				t.Errorf("%s=%s: %v, want %s", name, text, problems, want)
			}
		}
	}
}

// A request at all limits gets a response.
func TestHandlerAtTheLimits(t *testing.T) {
	state := Default()
	state.Load, state.Watch = MaxLoad, MaxWatch
	state.Strategies = must("none: constant d=0s", "sidekiq", "tiled: exponential base=1ms factor=1.1 tiled", "short: constant d=1us",
		"endless: exponential base=1h factor=10", "decorrelated base=1s", "buckets unit=1s exponent=3", "ordinal: linear d=1s tiled place=by-ordinal")
	state.Affected = 300
	// The eight overloads would take as long as the page waits.
	bound := map[string]time.Duration{"state": maxWork, "recover": time.Second, "outage": maxWork, "choose": maxWork}
	for kind := range bound {
		ctx, stop := context.WithTimeout(t.Context(), bound[kind])
		r := ask(t, "/api/"+kind+"?"+state.Query().Encode(), func(r *http.Request) { *r = *r.WithContext(ctx) })
		stop()
		text := body(t, r)
		if r.StatusCode != http.StatusOK && r.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: %s: %s", kind, r.Status, text)
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%s: %.200s", kind, text)
		}
		if len(text) > 8<<20 {
			t.Errorf("%s: %d bytes", kind, len(text))
		}
	}
}

// A run of the story cannot be made smaller, so that a slow computer may take longer for it.
func TestRunsOfTheStoryMayTakeLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for kind, want := range map[string]time.Duration{"run": 64 * time.Second, "more": 64 * time.Second, "recover": 8 * time.Second, "choose": 8 * time.Second} {
			ctx, stop := Limited(t.Context(), kind)
			defer stop()
			if end, _ := ctx.Deadline(); end.Sub(began) != want {
				t.Errorf("%s may take %v, want %v", kind, end.Sub(began), want)
			}
		}
	})
}

func TestStateRoundTrip(t *testing.T) {
	for _, p := range Presets() {
		got, problems := ParseState(p.Query())
		if problems != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", p) {
			t.Errorf("%s: %v\n%+v\nwant\n%+v", p.Tab, problems, got, p)
		}
	}
	for _, tab := range Tabs { // a link with the tab alone leads to its first preset
		if got, problems := ParseState(url.Values{"tab": {string(tab)}}); problems != nil || got.Query().Encode() != First(tab).Query().Encode() || got.Tab != tab {
			t.Errorf("%s: %v, %s", tab, problems, got.Query().Encode())
		}
	}
	if s := Default(); len(s.Query()) != 1 {
		t.Errorf("the beginning is %s, want its strategies alone", s.Query().Encode())
	}
}

// The first values of a tab are stored, whatever the address looks like and however slow the machine is.
func TestFirstValuesAreStored(t *testing.T) {
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for kind, query := range map[string]string{
		"recover": "load=80&utm_source=news&rate=100&y=own", "choose": "tab=choose&load=7&wait=1s&capacity=20", "outage": "tab=outage&affected=1000&watch=50s",
	} {
		values, err := url.ParseQuery(query)
		noError(t, err)
		s, _ := ParseState(values)
		got, err := Numbers(late, kind, s.Query().Encode())
		want, _ := stored("first-" + kind + ".json")
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s?%s: %v, %.80s", kind, query, err, got)
		}
	}
}

// When the time is over the numbers are those of the runs that are done, and no error of Go is in them.
func TestNumbersInTheTimeThereIs(t *testing.T) {
	for kind, query := range map[string]string{"recover": "load=81&watch=20m", "choose": "tab=choose&affected=2000", "outage": "tab=outage&affected=2000&capacity=1&down=1h"} {
		for _, work := range []time.Duration{time.Nanosecond, 20 * time.Millisecond, 200 * time.Millisecond} {
			ctx, stop := context.WithTimeout(t.Context(), work)
			got, err := Numbers(ctx, kind, query)
			stop()
			text, _ := json.Marshal(got)
			if err != nil || strings.Contains(string(text), "context deadline") || strings.Contains(string(text), "sim:") {
				t.Errorf("%s in %v: %v\n%.300s", kind, work, err, text)
			}
		}
	}
}

// The command has the options that a state has set, and no others.
func TestCommand(t *testing.T) {
	for tab, want := range map[Tab][2]string{
		TabRecover: {
			`retrywhen sim overload --load 80 --service 10ms --stall 5s --horizon 2m0s --timeout 1s "sidekiq"`,
			`retrywhen sim overload --load 80 --service 10ms --stall 5s --horizon 2m0s --timeout 1s --failures 0.01 --queue 50 --seed 1 "sidekiq"`,
		},
		TabOutage: {
			`retrywhen sim outage --clients 1000 --down 1m0s --capacity 20 "sidekiq"`,
			`retrywhen sim outage --clients 1000 --down 1m0s --capacity 20 --timeout 1ns --seed 1 "sidekiq"`,
		},
		TabChoose: {
			`retrywhen sim choose --clients 1000 --processes 1 --capacity 20 --timeout 1s --outages 500ms,2s,5s,20s,1m0s --wait 1s`,
			`retrywhen sim choose --clients 1000 --processes 1 --capacity 20 --timeout 1s --outages 500ms,2s,5s,20s,1m0s --served 1ns --wait 1s --seed 1`,
		},
	} {
		s := First(tab)
		s.Strategies, s.Timeout = must("sidekiq"), 0
		if got := s.Command(); got != want[0] {
			t.Errorf("%s\nwant\n%s", got, want[0])
		}
		s.Failures, s.Queue, s.Timeout, s.Served, s.Seed = 0.01, 50, 1, 1, 1
		if got := s.Command(); got != want[1] {
			t.Errorf("%s\nwant\n%s", got, want[1])
		}
	}
	s := First(TabRecover)
	s.Strategies = must("sidekiq attempttimeout=2s")
	if got, want := s.Command(), `retrywhen sim overload --load 80 --service 10ms --stall 5s --horizon 2m0s "sidekiq attempttimeout=2s"`; got != want {
		t.Errorf("%s\nwant, with the policy's own timeout,\n%s", got, want)
	}
}

// The Go code of a policy has the attempt timeout that its run had: its own, else the tab's.
func TestGoHasTheAttemptTimeoutOfTheRun(t *testing.T) {
	for tab, want := range map[Tab]string{
		TabRecover: "var sidekiq = retry.New(backoff.Sidekiq(), retry.AttemptTimeout(3*time.Second))\n", TabOutage: "retry.AttemptTimeout(4*time.Second)",
	} {
		s := First(tab)
		s.Strategies, s.Patience, s.Timeout = must("sidekiq", "own: sidekiq attempttimeout=7s"), 3*time.Second, 4*time.Second
		d := describe(s, nil)
		if !strings.Contains(d.Go, want) || strings.Count(d.Go, "AttemptTimeout(7*time.Second)") != 1 {
			t.Errorf("%s:\n%s\nwant %s", tab, d.Go, want)
		}
		if !strings.Contains(d.Go, strings.TrimPrefix(d.Strategies[0].Go, "var policy = ")) || d.Strategies[0].Title != "sidekiq" || d.Strategies[0].Text != "sidekiq" {
			t.Errorf("%s: %+v, but the file\n%s", tab, d.Strategies[0], d.Go)
		}
	}
}
