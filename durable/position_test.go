package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/stream"
)

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
	if err := r(t.Context(), func(v int) bool { return v < 3 }); err != nil {
		t.Error(err)
	}
	if got, err := r.Take(2).Collect(t.Context()); err != nil || !slices.Equal(got, []int{3, 4}) {
		t.Errorf("got %v, %v", got, err)
	}
	if err := job.Fail(errNo); err != nil {
		t.Error(err)
	}
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
			if err := test.run(job); err != nil {
				t.Error(err)
			}
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
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("panicked with %s, want %s", got, want)
				}
			}()
			call()
		}()
	}
	_, err := Resume(&Job{ID: "x"}, 0, open, last).Collect(t.Context())
	if err == nil || err.Error() != "durable: resume: job x: open returned a nil stream" || !isPermanent(err) {
		t.Errorf("got %v", err)
	}
	if failed := errors.New("no"); isPermanent(failed) {
		t.Error("any error is permanent")
	}
}
