package main

import "fmt"

// ratios are costs of this library relative to something measured in the same run. They are nearly the same on all
// machines.
var ratios = []struct{ title, over, under, unit string }{
	{"stream pipeline ÷ loop", "Items/plain/retrywhen-background", "Items/plain/loop", "sec/item"},
	{"stream pipeline under a cancellable context ÷ loop", "Items/plain/retrywhen", "Items/plain/loop", "sec/item"},
	{"with RetryWhen ÷ without", "Items/retried/retrywhen-background", "Items/plain/retrywhen-background", "sec/item"},
	{"with RetryWhen ÷ without, under a cancellable context", "Items/retried/retrywhen", "Items/plain/retrywhen", "sec/item"},
	{"Timeout ÷ channel", "Between/timeout/retrywhen", "Between/timeout/channel", "sec/item"},
	{"Merge ÷ channel", "Between/merge/retrywhen", "Between/merge/channel", "sec/item"},
	{"Zip ÷ channel", "Between/zip/retrywhen", "Between/zip/channel", "sec/item"},
	{"Share with two consumers ÷ two channels", "Between/share/retrywhen", "Between/share/channel", "sec/item"},
	{"Buffer(128) ÷ channel of 128", "Between/hand-over/retrywhen-Buffer(128)", "Between/hand-over/channel-128", "sec/item"},
	{"Batch(100) ÷ channel", "Between/batch/retrywhen", "Between/batch/channel", "sec/item"},
	{"FlatMap of one-value streams, four at once ÷ pool of four", "Between/flatmap/retrywhen", "Between/flatmap/channel-pool", "sec/item"},
	{"resubscription by a policy ÷ loop", "Resubscribe/retrywhen-RetryWhen", "Resubscribe/loop", "sec/failure"},
	{"resubscription by Retry(n) ÷ loop", "Resubscribe/retrywhen-Retry", "Resubscribe/loop", "sec/failure"},
	{"Do, first try ÷ loop", "Call/first-try/retrywhen", "Call/first-try/loop", "sec/op"},
	{"Do, ten failures ÷ loop", "Call/ten-failures/retrywhen", "Call/ten-failures/loop", "sec/op"},
	{"Delay ÷ loop", "Delay/retrywhen", "Delay/loop", "sec/delay"},
	{"Delay in parallel ÷ loop", "DelayParallel/retrywhen", "DelayParallel/loop", "sec/delay"},
}

// ratio returns the i-th ratio.
func (r *raw) ratio(i int) (float64, error) {
	q := ratios[i]
	over, ok1 := r.summary(q.over, q.unit)
	under, ok2 := r.summary(q.under, q.unit)
	if !ok1 || !ok2 || under.Center == 0 {
		return 0, fmt.Errorf("%s: no values in %s for %s and %s", q.title, q.unit, q.over, q.under)
	}
	return over.Center / under.Center, nil
}
