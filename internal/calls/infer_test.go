package calls

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/retry"
)

// simulate makes runs of a program with a policy, each of them watched for so long. Each wait is longer than meant by up
// to late.
func simulate(t *testing.T, text string, watched, late time.Duration, seed uint64) (runs []*Run) {
	t.Helper()
	p, err := retry.Parse(text)
	check.Must(t, err)
	random := rand.New(rand.NewPCG(seed, 2))
	limit, limited := p.Limit()
	for range 5 {
		at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		r := &Run{Way: Way{Name: Throughout}}
		prev := time.Duration(0)
		for n, end := 1, at.Add(watched); ; n++ {
			r.requests = append(r.requests, Request{At: at, over: at})
			if r.Returned = limited && n > limit; r.Returned {
				break
			}
			prev = p.Backoff().After(n, prev, random.Float64())
			at = at.Add(prev + time.Duration(random.Float64()*float64(late)))
			if at.After(end) {
				break
			}
		}
		runs = append(runs, r)
	}
	return runs
}

// A policy is recognized in virtual time and on a quiet machine, where a wait is longer than meant by 3 ms at most. On a
// busy one, where it is by 60 ms, another policy may explain the waits better.
func TestInfer(t *testing.T) {
	for _, policy := range []string{
		"exponential base=1s factor=2 jitter=default limit=4",
		"exponential base=100ms factor=2 cap=2s jitter=full",
		"exponential base=500ms factor=1.5 jitter=deviation:0.5",
		"exponential base=200ms factor=2 jitter=equal limit=5",
		"exponential base=100ms factor=3 cap=3s jitter=equal",
		"exponential base=100ms factor=2 cap=1s",
		"exponential base=300ms factor=1.7 limit=6",
		"exponential base=1s factor=2 limit=4",
		"constant d=1s limit=8",
		"constant d=2s jitter=full",
		"linear d=1s limit=5",
		"quadratic d=1s jitter=default limit=3",
		"fibonacci d=500ms limit=6",
		"decorrelated base=100ms limit=5",
		"table delays=0s,2s,4s,8s limit=4",
	} {
		for name, as := range map[string]struct {
			virtual       bool
			watched, late time.Duration
		}{"virtual": {true, time.Hour, 0}, "quiet": {false, 30 * time.Second, 3 * time.Millisecond}} {
			for seed := range uint64(5) {
				if p := Infer(simulate(t, policy, as.watched, as.late, seed), nil, as.virtual); p.Text != policy {
					t.Errorf("%s, %s: got %+v", policy, name, p)
				}
			}
		}
		if p := Infer(simulate(t, policy, 30*time.Second, 60*time.Millisecond, 1), nil, false); p.Text == "" {
			t.Errorf("%s, busy: got %+v", policy, p)
		} else if _, err := retry.Parse(p.Text); err != nil {
			t.Error(err)
		}
	}
}

// given is a run with these waits.
func given(waits ...time.Duration) *Run {
	r := asking(way(Throughout), waits...)
	r.Returned = true
	return r
}

// What a policy rests on is said with the numbers that were seen.
func TestInfer_Why(t *testing.T) {
	four := given(time.Second, 2*time.Second, 4*time.Second, 8*time.Second)
	for want, runs := range map[string][]*Run{
		"4 waits in each of 2 runs of 503 throughout; a cap was not seen, the longest wait was 8s": {four, four},
		"2 to 4 waits in each of 2 runs of 503 throughout; they gave up after 2 to 4 retries, so no number limits them; " +
			"a cap was not seen, the longest wait was 8s": {four, given(time.Second, 2*time.Second)},
		"1 wait in each of 1 run of 503 throughout; with 1 wait curves cannot be told apart; a cap was not seen, the longest wait was 1s": {given(time.Second)},
	} {
		if p := Infer(runs, nil, true); p.Why != want {
			t.Errorf("got %q, want %q", p.Why, want)
		}
	}
	early := given(time.Second, 950*time.Millisecond, time.Second, time.Second) // a timer is late, never early
	if p := Infer([]*Run{four, early}, nil, true); strings.HasPrefix(p.Text, "constant d=1s limit") || strings.HasPrefix(p.Text, "exponential base=1s factor=2 limit") {
		t.Errorf("got %+v", p)
	}
}

// Each curve with each jitter is a policy's text.
func TestInfer_Texts(t *testing.T) {
	for _, c := range append(curves, exponential(1.7, 0)) {
		for _, j := range spreads {
			text := fmt.Sprintf(c.format, exactly(90*time.Second)) + " cap=" + exactly(2*time.Hour) + j.text + " limit=4 attempttimeout=" + exactly(2500*time.Millisecond)
			if _, err := retry.Parse(text); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestInfer_FewWaits(t *testing.T) {
	for want, runs := range map[string][]*Run{
		// The first wait of a program that has just begun may be much longer than meant.
		"exponential base=1s factor=2 limit=4": {given(1270*ms, 2030*ms, 4140*ms, 8010*ms), given(1040*ms, 2010*ms, 4010*ms, 8010*ms),
			given(1120*ms, 2010*ms, 4010*ms, 8010*ms), given(1200*ms, 2010*ms, 4020*ms, 8005*ms), given(1100*ms, 2020*ms, 4010*ms, 8020*ms)},
		"constant d=0s limit=2":         {given(0, 0), given(300*ms, 0), given(0, 0)},                                                           // on a busy machine
		"table delays=1s,2s,2s limit=3": {given(1000*ms, 2000*ms, 2000*ms), given(1000*ms, 2000*ms, 2000*ms), given(1000*ms, 2000*ms, 2000*ms)}, // a cap, perhaps
	} {
		if p := Infer(runs, nil, false); p.Text != want || len(p.Or) > 0 {
			t.Errorf("got %+v, want only %s", p, want)
		}
	}
}
