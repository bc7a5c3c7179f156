package main

import (
	"fmt"

	"golang.org/x/perf/benchmath"
)

// ratios are costs of this library relative to something measured in the same run. They are nearly the same on all
// machines.
var ratios = append([]ratio{
	{"stream pipeline ÷ loop", "Items/plain/retrywhen-background", "Items/plain/loop", "sec/item", 0},
	{"stream pipeline under a cancellable context ÷ loop", "Items/plain/retrywhen", "Items/plain/loop", "sec/item", 0},
	{"with RetryWhen ÷ without", "Items/retried/retrywhen-background", "Items/plain/retrywhen-background", "sec/item", 0},
	{"with RetryWhen ÷ without, under a cancellable context", "Items/retried/retrywhen", "Items/plain/retrywhen", "sec/item", 0},
	{"Timeout ÷ channel", "Between/timeout/retrywhen", "Between/timeout/channel", "sec/item", 0},
	{"Merge ÷ channel", "Between/merge/retrywhen", "Between/merge/channel", "sec/item", 0},
	{"Zip ÷ channel", "Between/zip/retrywhen", "Between/zip/channel", "sec/item", 0},
	{"Share with two consumers ÷ two channels", "Between/share/retrywhen", "Between/share/channel", "sec/item", 0},
	{"Buffer(128) ÷ channel of 128", "Between/hand-over/retrywhen-Buffer(128)", "Between/hand-over/channel-128", "sec/item", 0},
	{"Batch(100) ÷ channel", "Between/batch/retrywhen", "Between/batch/channel", "sec/item", 0},
	{"FlatMap of one-value streams, four at once ÷ pool of four", "Between/flatmap/retrywhen", "Between/flatmap/channel-pool", "sec/item", 0},
	{"resubscription by a policy ÷ loop", "Resubscribe/retrywhen-RetryWhen", "Resubscribe/loop", "sec/failure", 0},
	{"resubscription by Retry(n) ÷ loop", "Resubscribe/retrywhen-Retry", "Resubscribe/loop", "sec/failure", 0},
	{"Do, first try ÷ loop", "Call/first-try/retrywhen", "Call/first-try/loop", "sec/op", 0},
	{"Do, ten failures ÷ loop", "Call/ten-failures/retrywhen", "Call/ten-failures/loop", "sec/op", 0},
	{"Delay ÷ loop", "Delay/retrywhen", "Delay/loop", "sec/delay", 0},
	{"Delay in parallel ÷ loop", "DelayParallel/retrywhen", "DelayParallel/loop", "sec/delay", 0},
}, chains...)

// chains are the ratios of chains. They have bounds, because a chain that is no longer one loop must be noticed.
var chains = []ratio{
	chainRatio("literals", 1.2),
	chainRatio("literals-cancellable", 1.2),
	chainRatio("functions", 1.15),
	chainRatio("functions-cancellable", 1.2),
	chainRatio("All-cancellable", 1.35),
	chainRatio("TryMap-Take-Skip-Scan", 0.6),
	chainRatio("in-a-variable", 2.3),
	chainRatio("RetryWhen-of-a-literal-with-Reduce", 1.15),
}

func chainRatio(name string, most float64) ratio {
	return ratio{"chain, " + name + " ÷ loop", "Chain/" + name + "/retrywhen", "Chain/" + name + "/loop", "sec/item", most}
}

// ratio is a cost relative to another one. It must be at most most; without such a bound, see raw.bound.
type ratio struct {
	title, over, under, unit string
	most                     float64
}

// ratio returns the i-th ratio: the median of its rounds, in each of which the two were measured one soon after the
// other, with its 95 % confidence interval.
func (r *raw) ratio(i int) (benchmath.Summary, error) {
	q := ratios[i]
	over, under := r.values[q.over][q.unit], r.values[q.under][q.unit]
	rounds := make([]float64, min(len(over), len(under)))
	for i := range rounds {
		rounds[i] = over[i] / under[i]
	}
	if len(rounds) == 0 {
		return benchmath.Summary{}, fmt.Errorf("%s: no values in %s for %s and %s", q.title, q.unit, q.over, q.under)
	}
	return summaryOf(rounds), nil
}

// bound returns what the i-th ratio of the run may be: 1.15 times the committed ratio, or more if the run is too noisy
// to tell such a difference, but at most 1.3 times.
func (r *raw) bound(i int, committed float64) (float64, error) {
	if most := ratios[i].most; most > 0 {
		return most, nil
	}
	v, err := r.ratio(i)
	noise := (v.Hi - v.Lo) / 2 / v.Center
	return committed * min(max(1.15, 1+noise), 1.3), err
}
