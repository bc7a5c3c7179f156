package calls

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// Rules are what a program may do.
type Rules struct {
	Virtual    bool // times are exact
	Most       int  // more requests in 30 s are a storm
	Idempotent bool // a POST may be repeated without a key
	NoJitter   bool // equal waits are meant
	Within     time.Duration
	Stop       time.Duration
	Expected   string // the result of the undisturbed call
	Recovers   bool   // from two answers of 503

	lenient bool // with the machine: waits are perhaps as much shorter as it stood still
}

// The thresholds of the rules.
const (
	noWaits     = 6  // waits in a row that are none
	enough      = 25 // more requests in hotSpan are hot
	hotSpan     = 2 * time.Second
	stormSpan   = 30 * time.Second
	longestWait = 5 * time.Minute
	alike       = 3 // runs with equal waits
)

// hasty is the longest wait that is none, and early the time before a Retry-After's that does not count.
func (j Rules) hasty() time.Duration { return j.pick(10*time.Millisecond, 5*time.Millisecond) }
func (j Rules) early() time.Duration { return j.pick(20*time.Millisecond, time.Millisecond) }

func (j Rules) pick(inRealTime, inVirtualTime time.Duration) time.Duration {
	if j.Virtual {
		return inVirtualTime
	}
	return inRealTime
}

// fault returns a fault. Its kind is one of package prove's.
func fault(kind, mend, format string, args ...any) []judge.Fault {
	return []judge.Fault{{Kind: kind, What: fmt.Sprintf(format, args...), Mend: mend}}
}

// Faults judges a run.
func (j Rules) Faults(r *Run) []judge.Fault {
	if len(r.Stuck) > 0 {
		return r.Stuck
	}
	if r.Panicked != "" {
		return fault("panic", "", "it panicked: %s", r.Panicked)
	}
	return slices.Concat(j.often(r), j.again(r), j.end(r), j.left(r))
}

// often judges how often a program asks.
func (j Rules) often(r *Run) []judge.Fault {
	if r.Way.Calls > 0 || r.Way.Name == noWait {
		return nil
	}
	waits, none, row := r.waits(), 0, 0
	for i, d := range waits {
		if row == noWaits {
			break
		}
		if j.lenient {
			d -= r.late(i)
		}
		if row++; d > j.hasty() {
			row = 0
		} else {
			none++
		}
	}
	mend := "is there a wait before each retry, also after many failures (an overflow), and is it not 0 by default?"
	hot, storm := burst(r.requests, hotSpan), burst(r.requests, stormSpan)
	switch {
	case row == noWaits || none == len(waits) && none >= 3:
		return fault("hot", mend, "it asked %d times, without a wait before %d of them", len(waits)+1, none)
	case hot > enough:
		return fault("hot", mend, "it asked %d times in %v", hot, hotSpan)
	case storm > j.Most:
		return fault("storm", "is there a limit, and do waits grow? Is it retried in two layers?", "it asked %d times in %v, for one call", storm, stormSpan)
	}
	if i := slices.IndexFunc(waits, func(d time.Duration) bool { return d > longestWait }); i >= 0 && j.Within > longestWait && r.Way.answer(i+1).after == "" {
		return fault("cap", "is there a longest wait?", "it waited for %s before request %d", Short(waits[i]), i+2)
	}
	return nil
}

// burst returns the largest number of requests in a span.
func burst(all []Request, span time.Duration) (most int) {
	from := 0
	for i := range all {
		for all[i].At.Sub(all[from].At) > span {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// again judges what a program sends again.
func (j Rules) again(r *Run) (all []judge.Fault) {
	found := map[string]bool{}
	add := func(f []judge.Fault) {
		if !found[f[0].Kind] {
			found[f[0].Kind] = true
			all = append(all, f...)
		}
	}
	for i := 1; i < len(r.requests) && r.Way.Calls == 0; i++ {
		was, now := r.requests[i-1], r.requests[i]
		if d := was.until.Sub(now.At); d > j.early() {
			add(fault("early", "does it read Retry-After, in seconds and as a date, and wait at least so long?", "it asked again %s before the time that Retry-After says", Short(d)))
		}
		method, _, _ := strings.Cut(was.Name, " ")
		if (method == http.MethodPost || method == http.MethodPatch) && was.perhaps() && !j.Idempotent && (was.key == "" || was.key != now.key) {
			add(fault("unsafe", "does each attempt have the same Idempotency-Key? If a repeated "+method+" has no second effect, Idempotent (--idempotent) allows it",
				"it sent a %s again that may have been carried out, without an equal Idempotency-Key", method))
		}
		switch dropped := was.dropped(now); {
		case was.body != now.body:
			add(fault("body", "is the body read anew for each attempt?", "request %d has another body than the one before", i+1))
		case dropped != "":
			add(fault("body", "are the headers set for each attempt?", "request %d has no %s, unlike the one before", i+1, dropped))
		}
		if was.vain(now) {
			add(fault("vain", "which statuses are retried? The same request gets the same answer", "it sent the same request again after %d", was.answer.status))
		}
	}
	return all
}

// perhaps reports whether a request that has failed may have been carried out.
func (r Request) perhaps() bool {
	f := r.answer.fate
	return f != whole && f != ended || slices.Contains([]int{500, 502, 504}, r.answer.status)
}

// vain reports whether the next request gets the answer of r again, in the real world.
func (r Request) vain(next Request) bool {
	renewed := next.header.Get("Authorization") != r.header.Get("Authorization") || next.Others > r.Others
	return slices.Contains([]int{400, 401, 403, 404, 422, 501}, r.answer.status) && r.body == next.body && (r.answer.status != http.StatusUnauthorized || !renewed)
}

// end judges how a call ends.
func (j Rules) end(r *Run) []judge.Fault {
	cut := slices.ContainsFunc(r.requests, func(q Request) bool { return q.answer.fate.cuts() })
	switch {
	case r.Late && r.Way.Deadline > 0:
		return fault("late", "do each wait and each attempt end with the context?", "it has not returned %v after its deadline of %v", j.Stop, r.Way.Deadline)
	case r.Late:
		return fault("late", "does each wait, and each attempt, end when it is told to?", "it has not returned %v after it was told to end", j.Stop)
	case !r.Returned && r.silent() && !r.Way.Told && r.Way.Deadline == 0:
		return fault("silent", "is there a timeout for each attempt?", "it still waits for an answer after %v", j.Within)
	case !r.Returned:
		return nil
	case r.Err != nil && (r.Way.Calls == 3 || r.Way.Name == kept && j.Recovers):
		return fault("stale", "is a connection that the server has closed taken from the pool, or its failure retried?", "it failed after a kept connection was closed: %v", r.Err)
	case r.Err != nil || r.Way.Name == Undisturbed:
		return nil
	case cut && r.Result != j.Expected:
		return fault("half", "does it read to the end, check for errors, and begin its output anew?", "it took %s for the whole answer %s", quote(r.Result), quote(j.Expected))
	case !cut && r.served == 0:
		return fault("swallowed", "is a failure returned as an error, or with an exit code that is not 0 (curl --fail)?", "nothing succeeded, and it returned no error, but %s", quote(r.Result))
	}
	return nil
}

// quote writes a result.
func quote(text string) string {
	if len(text) > 40 {
		text = text[:20] + "…" + text[len(text)-17:]
	}
	return fmt.Sprintf("%q", text)
}

// left judges what a call has left.
func (j Rules) left(r *Run) []judge.Fault {
	switch {
	case len(r.Left) > 0:
		return fault("left", "does it wait for what it has started?", "it has returned and left %s running: %s", judge.Count(len(r.Left), "goroutine"), judge.List(r.Left))
	case r.Open > 1:
		return fault("open", "is each response's body closed, that of a failure too?", "it has returned and left %d connections open, after the server has ended those between requests", r.Open)
	}
	return nil
}

// Jitter judges the waits of runs that began alike, and returns how many of them waited equally long, if these are a fault.
func (j Rules) Jitter(runs []*Run) (most int, found []judge.Fault) {
	if j.NoJitter {
		return 0, nil
	}
	waits := map[*Run][]time.Duration{}
	for _, r := range runs {
		waits[r] = r.waits()
	}
	equal := func(a, b *Run, i int) bool {
		one, two := waits[a][i], waits[b][i]
		d, late := one-two, a.late(i)
		if d < 0 {
			d, late = -d, b.late(i)
		}
		if j.lenient {
			d -= late
		}
		return d <= 0 || !j.Virtual && d <= 15*time.Millisecond && d <= max(one, two)/50
	}
	for _, r := range runs {
		for i := range min(len(waits[r]), mostColumns) {
			for k := range i {
				same := count(runs, func(other *Run) bool { return i < len(waits[other]) && equal(other, r, i) && equal(other, r, k) })
				if same >= max(alike, most+1) && min(waits[r][i], waits[r][k]) > j.hasty() {
					most, found = same, fault("jitter", "is there jitter, from random numbers that differ between programs? NoJitter (--no-jitter) allows equal waits",
						"%d of %d runs waited equally long: %s, then %s", same, len(runs), Short(waits[r][k]), Short(waits[r][i]))
					found[0].Shown = same - 1 // and once more when it is counted
				}
			}
		}
	}
	return most, found
}
