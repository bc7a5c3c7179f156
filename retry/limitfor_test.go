package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

var errDenied = errors.New("denied")

// How many retries the failures of one operation get, and what ends it.
func TestLimitFor(t *testing.T) {
	denied := func(n int) retry.Option { return retry.LimitFor(is(errDenied), n) }
	all := func(n int) retry.Option { return retry.LimitFor(func(error) bool { return true }, n) }
	a, b := errBoom, errDenied
	for name, c := range map[string]struct {
		p        retry.Policy
		failures []error // the last one comes again and again
		retries  int
		end      string // "": the failures are all retried
	}{
		"none after such a failure":              {every(1, denied(0)), []error{b}, 0, "limit of 0 retries"},
		"two after such failures":                {every(1, denied(2)), []error{b}, 2, "limit of 2 retries"},
		"others have no limit":                   {every(1, denied(0)), []error{a}, 100, ""},
		"others have Limit's":                    {every(1, denied(0), retry.Limit(5)), []error{a}, 5, "limit of 5 retries"},
		"the retries count whatever caused it":   {every(1, denied(2)), []error{a, a, b}, 2, "limit of 2 retries"},
		"more of others than it allows":          {every(1, denied(2)), []error{a, a, a, a, b}, 4, "limit of 2 retries"},
		"fewer":                                  {every(1, denied(2)), []error{a, b, b}, 2, "limit of 2 retries"},
		"an other one after it":                  {every(1, denied(1)), []error{b, a}, 100, ""},
		"it lowers Limit":                        {every(1, retry.Limit(3), denied(1)), []error{b}, 1, "limit of 1 retry"},
		"it does not raise Limit":                {every(1, retry.Limit(3), denied(9)), []error{b}, 3, "limit of 3 retries"},
		"it does not raise Limit(0)":             {every(1, retry.Limit(0), denied(9)), []error{b}, 0, "limit of 0 retries"},
		"the last one that accepts counts":       {every(1, all(9), denied(4), denied(2)), []error{b}, 2, "limit of 2 retries"},
		"also if it allows more":                 {every(1, denied(2), all(4)), []error{b}, 4, "limit of 4 retries"},
		"also if Limit allows less":              {every(1, denied(2), all(9), retry.Limit(5)), []error{b}, 5, "limit of 5 retries"},
		"an earlier one for what the last isn't": {every(1, all(4), denied(2)), []error{a}, 4, "limit of 4 retries"},
		"one that With has added":                {every(1, all(4)).With(denied(2)), []error{b}, 2, "limit of 2 retries"},
		"permanent goes first":                   {every(1, denied(0)), []error{retry.Permanent(b)}, 0, "denied"},
		"If goes first":                          {every(1, denied(0), retry.If(is(a))), []error{b}, 0, "denied"},
		"the zero Policy has it too":             {retry.Policy{}.With(denied(1)), []error{b}, 1, "limit of 1 retry"},
	} {
		op := c.p.Start(t.Context())
		var retries int
		var end error
		for ; retries < 100; retries++ {
			if _, end = op.Failed(retry.Outcome{Err: c.failures[min(retries, len(c.failures)-1)]}); end != nil {
				break
			}
		}
		got := ""
		if e, gaveUp := end.(*retry.Error); gaveUp {
			got = e.Cause.Error()
			if !errors.Is(end, retry.ErrLimit) || !errors.Is(end, retry.ErrExhausted) || e.Retries != retries {
				t.Errorf("%s: %+v", name, e)
			}
		} else if end != nil {
			got = end.Error()
		}
		if retries != c.retries || got != c.end {
			t.Errorf("%s: %d retries, then %q; want %d and %q", name, retries, got, c.retries, c.end)
		}
	}
}

// A reset begins a new row for it too.
func TestLimitFor_Reset(t *testing.T) {
	op := every(1, retry.LimitFor(is(errDenied), 1), retry.ResetAfter(time.Minute)).Start(t.Context())
	for i, lasted := range []time.Duration{0, time.Minute, time.Hour, 0} {
		if _, end := op.Failed(retry.Outcome{Err: errDenied, Lasted: lasted}); (end != nil) != (i == 3) {
			t.Errorf("failure %d: %v", i+1, end)
		}
	}
}

// The functions are called from the last to the first, once for each failure, until one accepts.
func TestLimitFor_Order(t *testing.T) {
	called := ""
	accept := func(name string, accepts bool) retry.Option {
		return retry.LimitFor(func(error) bool { called += name; return accepts }, 9)
	}
	base := retry.New(backoff.Backoff{}, accept("1", true), accept("2", true), accept("3", false))
	op := base.With(accept("4", false)).Start(t.Context())
	_, _ = op.Failed(retry.Outcome{Err: errBoom})
	called += " "
	_, _ = op.Failed(retry.Outcome{Err: retry.Permanent(errBoom)})
	op = base.With(accept("5", false)).Start(t.Context()) // the policies share no options
	_, _ = op.Failed(retry.Outcome{Err: errBoom})
	if called != "432 532" {
		t.Errorf("called %q", called)
	}
}

// It is no part of the text form.
func TestLimitFor_HasNoText(t *testing.T) {
	p := every(time.Second, retry.LimitFor(is(errDenied), 1))
	if n, set := p.Limit(); set || p.String() != "constant d=1s" {
		t.Errorf("%v, limit %d", p, n)
	}
	if err := p.UnmarshalText([]byte("constant d=0s limit=4")); err != nil {
		t.Fatal(err)
	}
	if err := retry.Run(t.Context(), p, func(context.Context) error { return errDenied }); err == nil || !errors.Is(err, retry.ErrLimit) || err.(*retry.Error).Retries != 1 {
		t.Errorf("read from a text it is %v", err)
	}
}

var errThrottled = errors.New("throttled")

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

// The delays of a policy with the failures of one operation.
func TestBackoffFor(t *testing.T) {
	linear, throttled := backoff.Linear(time.Second), backoff.Linear(time.Minute)
	for name, c := range map[string]struct {
		p        retry.Policy
		failures []error
		want     []float64 // in seconds
		end      error
	}{
		"the number of retries is that of the row": {
			retry.New(linear, retry.BackoffFor(is(errThrottled), throttled)),
			[]error{errBoom, errThrottled, errBoom, errThrottled}, []float64{1, 120, 3, 240}, nil,
		},
		"the last one that matches": {
			retry.New(linear, retry.BackoffFor(is(errThrottled), throttled), retry.BackoffFor(is(errBusy), backoff.Constant(0)),
				retry.BackoffFor(is(errThrottled), backoff.Constant(time.Hour))),
			[]error{errThrottled, errBusy, errBoom}, []float64{3600, 0, 3}, nil,
		},
		"StopAt looks at the chosen one": {
			retry.New(linear, retry.BackoffFor(is(errThrottled), throttled), retry.StopAt(time.Minute)),
			[]error{errBoom, errBoom, errThrottled}, []float64{1, 2}, retry.ErrStopAt,
		},
		"and not at the policy's own": {
			retry.New(throttled, retry.BackoffFor(is(errThrottled), linear), retry.StopAt(time.Minute)),
			[]error{errThrottled, errThrottled, errBoom}, []float64{1, 2}, retry.ErrStopAt,
		},
		"it spreads a dictated delay": {
			retry.New(linear, retry.BackoffFor(is(errThrottled), throttled.Jitter(jitter.Deviation(0.5)))),
			[]error{retry.RetryAfter(errBoom, 10*time.Second), retry.RetryAfter(errThrottled, 10*time.Second)}, []float64{10, 11.125}, nil,
		},
		"decorrelated goes on from the delay before": {
			retry.New(linear, retry.BackoffFor(is(errThrottled), backoff.Decorrelated(time.Second))),
			[]error{errBoom, errBoom, errThrottled, errThrottled}, []float64{1, 2, 4.75, 10.9375}, nil, // 1 + ¾·(3·2 - 1), 1 + ¾·(3·4.75 - 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []float64
			op := c.p.With(retry.WithRand(func() float64 { return 0.75 })).Start(t.Context())
			var end error
			for _, err := range c.failures {
				var delay time.Duration
				if delay, end = op.Failed(retry.Outcome{Err: err}); end != nil {
					break
				}
				got = append(got, delay.Seconds())
			}
			if !slices.Equal(got, c.want) || !errors.Is(end, c.end) {
				t.Errorf("got %v, %v; want %v, %v", got, end, c.want, c.end)
			}
		})
	}
}

// A random number is drawn only for a backoff that is random.
func TestBackoffFor_Draws(t *testing.T) {
	drawn := 0
	p := every(1, retry.BackoffFor(is(errThrottled), backoff.Constant(1).Jitter(jitter.Full)),
		retry.WithRand(func() float64 { drawn++; return 0.5 }))
	op := p.Start(t.Context())
	for i, err := range []error{errBoom, errThrottled, errBoom, errThrottled} {
		_, _ = op.Failed(retry.Outcome{Err: err})
		if want := (i + 1) / 2; drawn != want {
			t.Errorf("failure %d: %d draws, want %d", i+1, drawn, want)
		}
	}
}

// Every driver waits as BackoffFor says.
func TestBackoffFor_EveryDriver(t *testing.T) {
	eachDriver(t, func(t *testing.T, run driver) {
		p := every(time.Second, retry.BackoffFor(is(errThrottled), backoff.Constant(time.Minute)))
		start, failures := time.Now(), []error{errBoom, errThrottled, nil}
		err := run(t.Context(), p, func(context.Context) error {
			failure := failures[0]
			failures = failures[1:]
			return failure
		})
		if lasted := time.Since(start); err != nil || lasted != time.Minute+time.Second {
			t.Errorf("got %v after %v, want 1m1s", err, lasted)
		}
	})
}
