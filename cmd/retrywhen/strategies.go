package main

import "strings"

// starts are policies to start from, one for each curve.
var starts = []string{
	"constant d=5s",
	"linear d=1s tiled",
	"quadratic d=1s jitter=default",
	"polynomial d=1s degree=1.5 jitter=equal",
	"exponential base=1s factor=2 cap=30s jitter=equal",
	"exponential base=100ms factor=2 cap=30s jitter=full",
	"fibonacci d=1s jitter=default",
	"table delays=10ms,100ms,1s jitter=default",
	"sidekiq",
	"buckets unit=1s exponent=3",
	"decorrelated base=100ms cap=30s",
}

func policyStarts(begun string) []string {
	var found []string
	for _, s := range starts {
		if strings.HasPrefix(s, begun) {
			found = append(found, s)
		}
	}
	return found
}
