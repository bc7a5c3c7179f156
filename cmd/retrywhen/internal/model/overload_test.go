package model

import (
	"strings"
	"testing"
	"time"
)

func TestOverloadVerdicts(t *testing.T) {
	o := DefaultOverload()
	r, err := o.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"does not recover within 1m45s", "recovers after 17s", "recovers after 16s"} {
		if got := r.Strategies[i].Verdict(); got != want {
			t.Errorf("%s: %s, want %s", r.Strategies[i].Name, got, want)
		}
	}
	o.Trigger.For = time.Millisecond
	if r, err = o.Run(t.Context()); err != nil || r.Strategies[0].Verdict() != "recovers at once" {
		t.Errorf("after a standstill of 1ms: %v, %v", r, err)
	}
	if got := (&OverloadStrategyResult{}).Verdict(); got != "not computed" {
		t.Error(got)
	}
}

func TestOverloadLayers(t *testing.T) {
	s := strategies(t, "linear d=1s layers=3 processes=2 budget=1,1,0", "linear d=1s attempttimeout=2s")
	all := s[0].layers(time.Second)
	if d, ok := all[2].Policy.AttemptTimeout(); len(all) != 3 || !ok || d != time.Second || all[1].Processes != 2 || !strings.Contains(all[0].Policy.String(), "budget=1,1,0") {
		t.Errorf("%+v", all)
	}
	if d, _ := s[1].layers(time.Second)[0].Policy.AttemptTimeout(); d != 2*time.Second {
		t.Errorf("the policy's own timeout has become %v", d)
	}
	if _, ok := s[0].layers(0)[0].Policy.AttemptTimeout(); ok {
		t.Error("no timeout has become one")
	}
}

func TestOverloadInterrupted(t *testing.T) {
	o := DefaultOverload()
	r, err := o.Run(ended(t))
	if err == nil || r == nil || len(r.Strategies) != 1 {
		t.Errorf("%+v, %v: want the first strategy alone, and the end of the context", r, err)
	}
	o.Work, o.Horizon = time.Nanosecond, 4*time.Hour
	if r, err = o.Run(t.Context()); err != nil || len(r.Strategies) != 3 || r.Strategies[0].Note == "" {
		t.Errorf("%+v, %v", r, err)
	}
	o.Horizon = -1
	if r, err = o.Run(t.Context()); err == nil || r != nil {
		t.Errorf("%+v, %v: want what is wrong with the horizon", r, err)
	}
}
