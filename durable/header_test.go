package durable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestStateTravelsInHeaders(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)
	for _, want := range []state{
		{put: at},
		{put: at, due: at.Add(time.Nanosecond)},
		{put: at, due: at.Add(time.Hour), lastError: "first\r\nsecond: \"quoted\" ☃\x00", user: nats.Header{"Traceparent": {"00-1"}},
			retry: stateOf("attempts=7 first=2026-03-04T05:06:08Z retries=3 since=2026-03-04T05:06:09.5Z previous=20m34.567890123s place=0.12345678901234568")},
		{put: at, retry: failures(1, at)}, // the count of retries was just reset
	} {
		h := want.header()
		for key, values := range h {
			if len(values) != 1 || strings.ContainsAny(values[0], "\r\n") {
				t.Errorf("%s: %q is not a valid header", key, values)
			}
		}
		if got := readState(h); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

// The retry.State is one header, in its text form.
func TestTheRetryStateIsOneHeader(t *testing.T) {
	s := state{retry: stateOf("attempts=7 first=2026-03-01T12:00:00Z retries=2 since=2026-03-01T12:30:00Z previous=1.5s place=0.618")}
	want, err := s.retry.MarshalText()
	must(t, err)
	if h := s.header(); len(h) != 2 || get(h, headerState) != string(want) || get(h, headerError) == "" {
		t.Errorf("got %v", h)
	}
}

func TestReserved(t *testing.T) {
	for key, want := range map[string]bool{
		"Nats-": true, "nats-msg-id": true, "Retrywhen-": true, "RETRYWHEN-PUT": true, "Nats": false, "Traceparent": false, "": false,
	} {
		if got := reserved(key); got != want {
			t.Errorf("reserved(%q) is %t, want %t", key, got, want)
		}
	}
}

// Headers with any content can be read.
func FuzzReadState(f *testing.F) {
	f.Add("attempts=7 retries=2 first=2026-03-01T12:00:00Z since=2026-03-01T12:30:00Z previous=1.5s place=0.618", "2026-03-04T05:06:07Z", `"text"`)
	f.Add("attempts=-3", "yesterday", `"text`)
	f.Add("place=NaN \x00", "", "")
	f.Fuzz(func(t *testing.T, row, at, text string) {
		s := readState(nats.Header{headerState: {row}, headerPut: {at}, headerDue: {at}, headerError: {text}})
		if s.retry.Attempts() < 0 {
			t.Errorf("got %+v", s)
		}
		again := readState(s.header())
		if again.retry.Attempts() != s.retry.Attempts() || !again.put.Equal(s.put) {
			t.Errorf("read %+v, then %+v", s, again)
		}
	})
}

func TestErrorTextFits(t *testing.T) {
	for range 200 {
		letters := []rune("abc ä☃\n\x00\u2028\U0010ffff\\\"")
		var b strings.Builder
		for range rand.N(5 * errorRoom) {
			b.WriteRune(letters[rand.N(len(letters))])
		}
		text := errorText(b.String()+"\xff", errorRoom)
		if len(text) > errorRoom || !utf8.ValidString(text) || strings.ContainsAny(text, "\r\n") {
			t.Fatalf("%d bytes of %q", len(text), text)
		}
		if got := readErrorText(text); !strings.HasPrefix(b.String(), strings.TrimSuffix(strings.TrimSuffix(got, " …"), "\uFFFD")) {
			t.Fatalf("got %q of %q", got, b.String())
		}
	}
}

func TestTokensAreFitForSubjects(t *testing.T) {
	seen := make(map[string]string)
	for _, id := range []string{"a", "A-1_b", "a.b", "a b", "*", ">", "ä", "=", "=Kg", "Kg", "", strings.Repeat(".", maxID)} {
		got := token(id)
		if id != "" && (got == "" || strings.ContainsAny(got, " .*>\t\r\n")) {
			t.Errorf("%q: %q is not a valid token", id, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q have the same token %q", id, other, got)
		}
		seen[got] = id
		c := Config{Name: "q"}
		if back, st, ok := c.parseSubject(c.subject(id, later)); id != "" && (!ok || back != id || st != later) {
			t.Errorf("%q: read as %q %q %v", id, back, st, ok)
		}
	}
}

// An error's text of any length is one line of at most errorRoom bytes, and nothing is cut that has room.
func TestErrorText_Limits(t *testing.T) {
	longest := strings.Repeat("x", errorRoom-2) // and two quotes
	for name, text := range map[string]string{"the longest": longest, "empty": "", "two lines": "a\nb", "no text at all": "\xff"} {
		got := errorText(text, errorRoom)
		if back := readErrorText(got); len(got) > errorRoom || back != strings.ToValidUTF8(text, "\uFFFD") {
			t.Errorf("%s: %d bytes came back as %d", name, len(text), len(back))
		}
	}
	for name, text := range map[string]string{
		"one more":              longest + "x",
		"many times more":       strings.Repeat("x", 1<<20),
		"controls":              strings.Repeat("\x00", errorRoom),
		"letters of three byte": strings.Repeat("€", errorRoom),
	} {
		got := errorText(text, errorRoom)
		back, ok := strings.CutSuffix(readErrorText(got), " …")
		if len(got) > errorRoom || len(got) < errorRoom*7/10 || !ok || !strings.HasPrefix(text, back) {
			t.Errorf("%s: %d bytes, which end %q", name, len(got), got[max(0, len(got)-20):])
		}
	}
	if got := readErrorText("no quotes"); got != "no quotes" {
		t.Errorf("a text without quotes: %q", got)
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]uint64{"": 0, "0": 0, "10": 10, "128": 128, "x": 0, "-1": 0} {
		if got := number(nats.Header{"N": {text}}, "N"); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

// The letters of a plain id, and their neighbours in ASCII.
func TestPlain(t *testing.T) {
	for _, c := range "azAZ09-_" {
		if !plain(string(c)) || token(string(c)) != string(c) {
			t.Errorf("%q is not plain", c)
		}
	}
	for _, c := range "`{@[/:,.*> =ä\x00" {
		if plain(string(c)) || plain("a"+string(c)) || !strings.HasPrefix(token(string(c)), "=") {
			t.Errorf("%q is plain", c)
		}
	}
}

func TestParseSubject(t *testing.T) {
	c := Config{Name: "q"}
	for subject, want := range map[string]struct {
		id    string
		stage stage
		ok    bool
	}{
		"retrywhen.q.job.x.first":        {"x", first, true},
		c.subject("a b", later):          {"a b", later, true},
		"retrywhen.other.job.x.first":    {},
		"retrywhen.q.job.x":              {},
		"retrywhen.q.job.=***.first":     {ok: false},
		"retrywhen.q.job.=YSBi.again":    {"a b", again, true},
		"retrywhen.q.job.=YSBi=.again":   {ok: false},
		"retrywhen.q.job.x.first.second": {"x", "first.second", true},
	} {
		id, st, ok := c.parseSubject(subject)
		if ok != want.ok || ok && (id != want.id || st != want.stage) {
			t.Errorf("%s: %q, %s, %t", subject, id, st, ok)
		}
	}
}

// What Put takes comes to the handler as it was, through the client's encoder and decoder.
func FuzzPutHeader(f *testing.F) {
	for _, header := range [][2]string{{"traceparent", "00-1"}, {"a", ""}, {"A", "ä☃\xff"}, {"!#$%&'*+-.^_`|~", "x:y"}, {"Status", "400"}, {"é", "x"}, {"x(y)", "x"},
		{"x\x00y", "x"}, {"a", " x"}, {"a", "x\x00"}, {"Nats-Msg-Id", "x"}, {"a", "x\u0085"}, {"a", "\u00a0x"}, {"a", "x\ty"}, {"a", "x\r\nb: c"}} {
		f.Add(header[0], header[1])
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		var p put
		PutHeader(name, value)(&p)
		if p.err != nil {
			return
		}
		s := new(server)
		nc := connected(t, s)
		must(t, nc.PublishMsg(&nats.Msg{Subject: "x", Header: (&state{user: p.header}).header()}))
		must(t, nc.Flush())
		m := s.got.Load()
		if m == nil {
			t.Fatalf("%q: %q is not sent", name, value)
		}
		if got := readState(m.Header).user; len(got) != 1 || len(got[name]) != 1 || got[name][0] != value {
			t.Errorf("%q: %q became %q", name, value, got)
		}
	})
}

// stateOf returns the State with the given text form.
func stateOf(text string) (s retry.State) {
	if err := s.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return s
}

// failures returns the State after n failures, whose count of retries was just reset.
func failures(n int, first time.Time) retry.State {
	return stateOf(fmt.Sprintf("attempts=%d first=%s", n, formatTime(first)))
}

type row struct {
	Table string
	N     int
}

// numbers yields the numbers after at, up to end.
func numbers(at, end int) stream.Stream[int] { return stream.Range(at+1, end-at) }

func last(_, v int) int { return v }

// The stream goes on at the position that is stored, and the position moves when the consumer has taken a value.
func TestResume(t *testing.T) {
	for name, test := range map[string]struct {
		stored string
		want   []int
		end    string // of the error
	}{
		"the first attempt": {want: []int{1, 2, 3, 4, 5}},
		"a later one":       {stored: "3", want: []int{4, 5}},
		"at the end":        {stored: "5"},
		"another type":      {stored: `{"N":1}`, end: `durable: resume: job x: the stored position {"N":1} is not a int: json: cannot unmarshal object`},
	} {
		s, q := fake(t, Config{})
		d := deliver(q, s, first, func(d *delivery) { d.state.position = []byte(test.stored) })
		job := q.newJob(d)
		r := Resume(job, 0, func(at int) stream.Stream[int] { return numbers(at, 5) }, last)
		got, err := r.Collect(t.Context())
		if !slices.Equal(got, test.want) || (err == nil) != (test.end == "") || err != nil && !strings.HasPrefix(err.Error(), test.end) {
			t.Errorf("%s: got %v, %v, want %v, %s", name, got, err, test.want, test.end)
		}
		if again, _ := r.Collect(t.Context()); len(again) != 0 {
			t.Errorf("%s: run again it yields %v", name, again)
		}
	}
}

// Where the consumer stops, the next run goes on: a value that it has refused comes again.
func TestResume_TheConsumerStops(t *testing.T) {
	s, q := fake(t, Config{Policy: later1})
	job := q.newJob(deliver(q, s, first, nil))
	r := Resume(job, row{"a", 0}, func(at row) stream.Stream[int] { return numbers(at.N, 9) }, func(at row, v int) row { return row{at.Table, v} })
	must(t, r(t.Context(), func(v int) bool { return v < 3 }))
	if got, err := r.Take(2).Collect(t.Context()); err != nil || !slices.Equal(got, []int{3, 4}) {
		t.Errorf("got %v, %v", got, err)
	}
	must(t, job.Fail(errNo))
	if got := get(s.lastSent().Header, headerAt); got != `{"Table":"a","N":3}` { // Take stops at 4, so 4 is not taken
		t.Errorf("stored is %s", got)
	}
}

// What is stored, with which outcome.
func TestResume_Stored(t *testing.T) {
	big := strings.Repeat("x", maxPosition-1)
	for name, test := range map[string]struct {
		stored string
		run    func(*Job) error
		report func(*Job)
		did    string
		want   string
	}{
		"with a failure":           {run: runTo(3), report: func(j *Job) { j.Fail(errNo) }, did: "put later; ack", want: "3"},
		"with a snooze":            {run: runTo(3), report: func(j *Job) { j.Fail(Snooze(time.Hour)) }, did: "put later; ack", want: "3"},
		"with the end of a round":  {run: runTo(3), report: func(j *Job) { j.Again(time.Hour) }, did: "put later; ack", want: "3"},
		"with a hand-back":         {run: runTo(3), report: func(j *Job) { j.handBack(0) }, did: "put mark; nak", want: "3"},
		"with a dead letter":       {run: runTo(3), report: func(j *Job) { j.Fail(stream.Permanent(errNo)) }, did: "put dead; ack", want: "3"},
		"not with success":         {run: runTo(3), report: func(j *Job) { j.Done() }, did: "put mark; ack"},
		"it has not moved":         {stored: "7", run: runTo(7), report: func(j *Job) { j.handBack(0) }, did: "nak"},
		"it was not used":          {stored: "7", run: func(*Job) error { return nil }, report: func(j *Job) { j.Fail(errNo) }, did: "put later; ack", want: "7"},
		"it is too large":          {stored: `"old"`, run: runText(big), report: func(j *Job) { j.Fail(errNo) }, did: "log: the position of a job cannot be stored, its next attempt begins at the one before; put later; ack", want: `"old"`},
		"it is as large as it may": {run: runText(big[1:]), report: func(j *Job) { j.Fail(errNo) }, did: "put later; ack", want: `"` + big[1:] + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, q := fake(t, Config{Policy: later1})
			q.bound.next.Store(time.Now().Add(time.Hour).UnixNano())
			job := q.newJob(deliver(q, s, first, func(d *delivery) { d.state.position = []byte(test.stored) }))
			must(t, test.run(job))
			test.report(job)
			s.did(t, test.did)
			if got := get(s.lastSent().Header, headerAt); got != test.want {
				t.Errorf("stored is %s, want %s", got, test.want)
			}
			if got := get(s.lastSent().Header, headerTTL); strings.HasPrefix(test.did, "put mark; nak") && got != "2592000s" {
				t.Errorf("the mark lives %s", got)
			}
			if err := test.run(job); err != nil {
				t.Errorf("the handler goes on: %v", err)
			}
		})
	}
}

func runTo(end int) func(*Job) error {
	return func(j *Job) error {
		return Resume(j, 0, func(at int) stream.Stream[int] { return numbers(at, end) }, last).ForEach(context.Background(), func(int) {})
	}
}

func runText(s string) func(*Job) error {
	return func(j *Job) error {
		return Resume(j, "", func(string) stream.Stream[string] { return stream.Of(s) }, func(_, v string) string { return v }).ForEach(context.Background(), func(string) {})
	}
}

// A worker takes the position of a mark over, also without a failure.
func TestCatchUp_Position(t *testing.T) {
	s, q := fake(t, Config{})
	st := state{position: []byte("5")}
	s.last = func(string) (*jetstream.RawStreamMsg, error) { return message(q, mark, 9, st.header()), nil }
	d := deliver(q, s, first, func(d *delivery) { d.deliveries, d.state.position = 2, []byte("1") })
	if !q.catchUp(t.Context(), d) || string(d.state.position) != "5" {
		t.Errorf("the position is %s", d.state.position)
	}
}

// An error's text leaves room for the position.
func TestHeader_Room(t *testing.T) {
	st := state{position: []byte(strings.Repeat("1", maxPosition)), lastError: strings.Repeat("e", errorRoom)}
	st.retry = failures(1, time.Now())
	h := st.header()
	if n := len(get(h, headerError)) + len(get(h, headerAt)); n > errorRoom || n < errorRoom*3/4 {
		t.Errorf("both have %d bytes, want at most %d", n, errorRoom)
	}
}

func TestResume_Invalid(t *testing.T) {
	open := func(int) stream.Stream[int] { return nil }
	for want, call := range map[string]func(){
		"durable: Resume: job is nil":   func() { Resume(nil, 0, open, last) },
		"durable: Resume: open is nil":  func() { Resume[int](new(Job), 0, nil, last) },
		"durable: Resume: after is nil": func() { Resume(new(Job), 0, open, nil) },
	} {
		panics(t, want, call)
	}
	_, err := Resume(&Job{ID: "x"}, 0, open, last).Collect(t.Context())
	if err == nil || err.Error() != "durable: resume: job x: open returned a nil stream" || !isPermanent(err) {
		t.Errorf("got %v", err)
	}
	if failed := errors.New("no"); isPermanent(failed) {
		t.Error("any error is permanent")
	}
}
