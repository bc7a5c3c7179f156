// Package calls has what packages prove and reconnecttest share for a program that makes calls: a server that plays the
// ways in which calls fail and records each request, the rules by which the program is judged, and the policy that its
// waits show. It knows nothing of how a program is run, and runs in real and in virtual time.
package calls

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Way is what the server does in one run of a program.
type Way struct {
	Name    string
	answers []answer      // to the first requests; then the request succeeds,
	always  bool          // or the last of answers goes on
	Refused time.Duration // for how long connections are refused; negative: throughout
	Told    bool          // the program is told to end soon after the first answer
	Long    bool          // it may last for as long as a run is watched
	Timed   bool          // its waits are measured, so that nothing else should run

	// In virtual time only:

	Deadline time.Duration // of the call's context; 0 is none
	Calls    int           // so many calls in a row, of one client; 0 is one
}

// answer is what a request gets.
type answer struct {
	status int    // 0: what succeeds
	after  string // Retry-After, "" for none; date: now plus dictated, as a date
	fate   fate
}

// fate is what happens to a connection at an answer.
type fate int

const (
	whole     fate = iota // the answer comes, and the connection stays
	ended                 // the answer comes, and the server closes the connection
	silent                // there is no answer
	reset                 // the connection is reset in place of the answer
	closed                // or closed
	half                  // half of the answer comes, and the connection is closed,
	halfReset             // or reset
	chunks                // as half, in chunks
)

func (f fate) cuts() bool { return f >= half }

const (
	dictated = 3 * time.Second // what Retry-After says
	date     = "date"
	day      = "86400"
)

// The names of ways that are not like others.
const (
	Undisturbed = "undisturbed"
	Silence     = "silence"
	Throughout  = "503 throughout"
	twice503    = "503 twice"
	Hundred     = "100 calls, 503 throughout"
	resets      = "reset throughout"
	kept        = "kept connection closed"
	noWait      = "Retry-After 0"
)

// Ways returns all ways but the undisturbed one, in the order of a table. virtual: with those that need hours, a deadline, or a client that makes
// several calls.
func Ways(virtual bool) []Way {
	repeat := func(n, status int) []answer { return slices.Repeat([]answer{{status: status}}, n) }
	once := func(a answer) []answer { return []answer{a} }
	ways := []Way{{Name: twice503, answers: repeat(2, 503)}}
	for range 5 {
		ways = append(ways, Way{Name: Throughout, answers: repeat(1, 503), always: true, Long: true, Timed: true})
	}
	ways = append(ways,
		Way{Name: "told in a wait", answers: repeat(1, 503), always: true, Told: true},
		Way{Name: "Retry-After 3 s (503)", answers: once(answer{status: 503, after: "3"})},
		Way{Name: "Retry-After 3 s (429)", answers: once(answer{status: 429, after: "3"})},
		Way{Name: "Retry-After a date", answers: once(answer{status: 503, after: date})},
		Way{Name: noWait, answers: once(answer{status: 503, after: "0"})},
		Way{Name: "Retry-After soon", answers: once(answer{status: 503, after: "soon"})},
		Way{Name: "Retry-After a day", answers: once(answer{status: 503, after: day}), Long: true})
	for _, status := range []int{408, 425, 429, 500, 502, 504} {
		ways = append(ways, Way{Name: strconv.Itoa(status), answers: repeat(1, status)})
	}
	for _, status := range []int{400, 401, 403, 404, 409, 422, 501} {
		ways = append(ways, Way{Name: strconv.Itoa(status), answers: repeat(2, status)})
	}
	silence := Way{Name: Silence, answers: once(answer{fate: silent}), Long: true}
	ways = append(ways,
		Way{Name: "refused for 2 s", Refused: 2 * time.Second},
		Way{Name: "refused throughout", Refused: -1, Long: true},
		Way{Name: "reset", answers: once(answer{fate: reset})},
		Way{Name: resets, answers: once(answer{fate: reset}), always: true, Long: true},
		Way{Name: "closed", answers: once(answer{fate: closed})},
		Way{Name: "answer cut, closed", answers: once(answer{fate: half})},
		Way{Name: "answer cut, reset", answers: once(answer{fate: halfReset})},
		Way{Name: "answer cut, in chunks", answers: once(answer{fate: chunks})},
		Way{Name: kept, answers: once(answer{status: 503, fate: ended})},
		silence)
	if !virtual {
		return append(ways, silence) // silence lasts, so it is played twice at once
	}
	const deadline = 10 * time.Second
	for _, w := range []Way{silence, {Name: "503", answers: repeat(1, 503), always: true}, {Name: "Retry-After a day", answers: once(answer{status: 503, after: day})}} {
		w.Name += fmt.Sprintf(", a deadline of %v", deadline)
		w.Deadline = deadline
		ways = append(ways, w)
	}
	return append(ways,
		Way{Name: "three calls, " + kept, answers: once(answer{fate: ended}), always: true, Calls: 3},
		Way{Name: Hundred, answers: repeat(1, 503), always: true, Calls: 100, Deadline: time.Minute})
}

// answer returns what the n-th request gets, from 1.
func (w Way) answer(n int) answer {
	switch {
	case n <= len(w.answers):
		return w.answers[n-1]
	case w.always:
		return w.answers[len(w.answers)-1]
	}
	return answer{}
}

// retryAfter returns the answer's header, and the instant that it dictates, which is zero if it dictates none.
func (a answer) retryAfter(now time.Time) (header string, until time.Time) {
	switch a.after {
	case "3":
		return a.after, now.Add(dictated)
	case date:
		until = now.Add(dictated).Truncate(time.Second)
		return until.UTC().Format(http.TimeFormat), until
	}
	return a.after, time.Time{}
}
