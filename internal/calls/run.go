package calls

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// Run is what one run of a program has shown.
type Run struct {
	Way      Way
	Names    []string // METHOD /path of all requests
	Result   string   // what the call returned
	Err      error
	Panicked string
	Returned bool            // by itself, before it was told to end
	Startup  time.Duration   // until its first request
	Took     time.Duration   // from its first request until it returned, or was told to end
	Late     bool            // it has not returned in time when it was told to, or at its deadline
	Open     int             // connections that it has not closed
	Left     []string        // where goroutines are that it has left
	Refusals []time.Duration // waits between connections that were refused
	Timeline []string
	Stuck    []judge.Fault // why the run cannot be judged

	requests []Request // those that were disturbed
	served   int       // of them, those that succeeded
}

// Target returns the name of the request that is disturbed: wanted, or else the first one. An error says why there is
// none.
func (r *Run) Target(wanted string) (string, error) {
	if len(r.Names) == 0 {
		return "", errors.New("the program made no request; does it connect to the address that it is given?")
	}
	wanted = cmp.Or(wanted, r.Names[0])
	switch n := count(r.Names, func(name string) bool { return name == wanted }); {
	case n == 0:
		return "", fmt.Errorf("the program made no request %s, but %s", wanted, judge.List(r.Names))
	case n > 1:
		return "", fmt.Errorf("a call makes %d requests %s, which cannot be told from retries; let the program make one, or name another request (Request, --request)", n, wanted)
	}
	return wanted, nil
}

// count returns how many elements are so.
func count[E any](all []E, so func(E) bool) (n int) {
	for _, e := range all {
		if so(e) {
			n++
		}
	}
	return n
}

// waits returns the waits between requests, or between connections if those were refused.
func (r *Run) waits() (all []time.Duration) {
	if r.Refusals != nil {
		return r.Refusals
	}
	for i := 1; i < len(r.requests); i++ {
		all = append(all, r.requests[i-1].wait(r.requests[i]).Round(time.Microsecond))
	}
	return all
}

// late returns by how much the machine may have made the i-th wait longer, from 0.
func (r *Run) late(i int) time.Duration {
	if r.Refusals != nil {
		return 0
	}
	return r.requests[i+1].stood - r.requests[i].stood
}

// succeeded reports whether the call returned what a request that succeeded brought.
func (r *Run) succeeded() bool { return r.Returned && r.Err == nil && r.served > 0 }

// Row is what a way has shown, in a table.
type Row struct {
	Way                string
	Requests           int
	Waits              []time.Duration
	How, Result, Error string
}

// Row returns the run's row.
func (r *Run) Row() Row {
	row := Row{Way: r.Way.Name, Requests: len(r.requests), Waits: append([]time.Duration{}, r.waits()...), How: r.how()}
	if r.Way.Name == Undisturbed {
		row.Requests = 1 // says Target
	}
	switch {
	case !r.Returned:
	case r.Err != nil:
		row.Error = r.Err.Error()
	default:
		row.Result = r.Result
	}
	return row
}

// how says what the program did.
func (r *Run) how() string {
	took := Short(r.Took)
	after := " after " + took
	if r.Took < 50*time.Millisecond {
		after = " at once"
	}
	switch {
	case len(r.Stuck) > 0:
		return "cannot be judged"
	case r.Panicked != "":
		return "panics"
	case r.Late && r.Way.Deadline > 0:
		return "goes on after its deadline"
	case r.Late:
		return "does not end when it is told to"
	case r.Way.Told && !r.Returned:
		return "ends when it is told to"
	case !r.Returned && len(r.requests) == 1:
		return "still waits after " + took
	case !r.Returned:
		return "goes on after " + took
	case r.succeeded() && len(r.requests) == 1 && r.Way.Refused == 0 || r.Way.Name == Undisturbed:
		return "succeeds"
	case r.succeeded():
		return "succeeds" + after
	case r.Err == nil:
		return "no error," + after
	}
	return "fails" + after
}

// silent reports whether the last request has no answer, and the program still awaits it.
func (r *Run) silent() bool {
	n := len(r.requests)
	return n > 0 && r.requests[n-1].answer.fate == silent && r.requests[n-1].over.IsZero()
}

// Short writes a duration with three digits.
func Short(d time.Duration) string {
	unit := time.Duration(1)
	for d >= 1000*unit {
		unit *= 10
	}
	return exactly(d.Round(unit))
}

// exactly writes a duration as the text of a policy has it.
func exactly(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
