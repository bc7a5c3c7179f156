package main

import (
	"errors"
	"fmt"
	"io"
)

// worst is how far past the committed ratio a ratio may be.
const worst = 1.3

// checks is how often the ratios are measured before a bad one is believed: a neighbour on the machine passes, what the
// code has become does not.
const checks = 3

// ratios are what this library costs as a multiple of something measured in the same run: they hold on any machine,
// nearly.
var ratios = []struct{ title, over, under, unit string }{
	{"stream pipeline ÷ loop", "Items/plain/retrywhen-background", "Items/plain/loop", "sec/item"},
	{"stream pipeline under a cancellable context ÷ loop", "Items/plain/retrywhen", "Items/plain/loop", "sec/item"},
	{"with RetryWhen ÷ without", "Items/retried/retrywhen-background", "Items/plain/retrywhen-background", "sec/item"},
	{"with RetryWhen ÷ without, under a cancellable context", "Items/retried/retrywhen", "Items/plain/retrywhen", "sec/item"},
	{"resubscription by a policy ÷ loop", "Resubscribe/retrywhen-RetryWhen", "Resubscribe/loop", "sec/failure"},
	{"resubscription by Retry(n) ÷ loop", "Resubscribe/retrywhen-Retry", "Resubscribe/loop", "sec/failure"},
	{"Do, first try ÷ loop", "Call/first-try/retrywhen", "Call/first-try/loop", "sec/op"},
	{"Do, ten failures ÷ loop", "Call/ten-failures/retrywhen", "Call/ten-failures/loop", "sec/op"},
	{"Delay ÷ loop", "Delay/retrywhen", "Delay/loop", "sec/delay"},
	{"Delay in parallel ÷ loop", "DelayParallel/retrywhen", "DelayParallel/loop", "sec/delay"},
}

// ratio returns the i-th ratio.
func (r *results) ratio(i int) (float64, error) {
	q := ratios[i]
	over, ok1 := r.get(q.over, q.unit)
	under, ok2 := r.get(q.under, q.unit)
	if !ok1 || !ok2 || under == 0 {
		return 0, fmt.Errorf("%s: no figures in %s for %s and %s", q.title, q.unit, q.over, q.under)
	}
	return over / under, nil
}

// compare prints the ratios beside the committed ones. It fails if one has grown too much, or if one is missing.
func (r *results) compare(w io.Writer, committed *results) error {
	var failed []error
	for i, q := range ratios {
		before, err1 := committed.ratio(i)
		now, err2 := r.ratio(i)
		if err := errors.Join(err1, err2); err != nil {
			failed = append(failed, err)
			continue
		}
		verdict := "ok"
		if now > worst*before {
			verdict = "WORSE"
			failed = append(failed, fmt.Errorf("%s: %.2f, want at most %.2f, which is %v times the committed %.2f", q.title, now, worst*before, worst, before))
		}
		fmt.Fprintf(w, "%-55s %7.2f  committed %7.2f  %s\n", q.title, now, before, verdict)
	}
	return errors.Join(failed...)
}

// checkAgain compares what measure returns with the committed results, and again while something is wrong, at most n
// times.
func checkAgain(n int, measure func() (*results, error), committed *results, w io.Writer) error {
	for i := 1; ; i++ {
		r, err := measure()
		if err != nil {
			return err
		}
		if err = r.compare(w, committed); err == nil || i == n {
			return err
		}
		fmt.Fprintf(w, "%v\nonce more\n", err)
	}
}

// targets are what the hot paths are to cost at most.
var targets = []struct {
	title, unit string
	most        float64
	measure     func(*results) (float64, error)
}{
	{"stream pipeline ÷ loop", "×", 2.2, func(r *results) (float64, error) { return r.ratio(0) }},
	{"what RetryWhen adds to an item that passes through it", "ns", 1, func(r *results) (float64, error) {
		with, ok1 := r.get("Items/retried/retrywhen-background", "sec/item")
		without, ok2 := r.get("Items/plain/retrywhen-background", "sec/item")
		return known(2*(with-without)*1e9, ok1 && ok2) // every other item passes the filter
	}},
	{"a resubscription", "ns", 300, nanoseconds("Resubscribe/retrywhen-RetryWhen", "sec/failure")},
	{"Do, first try", "ns", 10, nanoseconds("Call/first-try/retrywhen", "sec/op")},
	{"Do, first try", "allocations", 0, func(r *results) (float64, error) {
		return known(r.get("Call/first-try/retrywhen", "allocs/op"))
	}},
	{"Do, ten failures", "ns", 300, nanoseconds("Call/ten-failures/retrywhen", "sec/op")},
	{"Delay", "ns", 12, nanoseconds("Delay/retrywhen", "sec/delay")},
}

func nanoseconds(name, unit string) func(*results) (float64, error) {
	return func(r *results) (float64, error) {
		seconds, ok := r.get(name, unit)
		return known(seconds*1e9, ok)
	}
}

func known(v float64, ok bool) (float64, error) {
	if !ok {
		return 0, errors.New("not measured")
	}
	return v, nil
}
