package operators_test

import (
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// Every operator keeps the contract of stream.Stream as streamtest.Check sees it, whatever its source does.
func TestCheck(t *testing.T) {
	ticks := func(n int) ints {
		return operators.ZipWith(stream.Range(1, n), stream.Interval(time.Second), func(v int, _ time.Time) int { return v })
	}
	sources := map[string]ints{
		"empty":   after500ms(stream.Empty[int]()),
		"failing": ticks(4).Concat(after500ms(stream.Fail[int](errBoom))),
		"endless": ticks(3).Concat(stream.Never[int]()),
		"many":    stream.Range(1, 150),
	}
	single := []operator{
		{name: "Reduce", apply: func(s ints) ints { return operators.Reduce(s, 0, add) }},
		{name: "Count", apply: operators.Count[int]},
		{name: "First", apply: operators.First[int]},
		{name: "Last", apply: operators.Last[int]},
		{name: "Sample", apart: true, apply: func(s ints) ints { return operators.Sample(s, stream.Interval(1300*ms)) }},
		{name: "Sample, sampler", apart: true, apply: func(s ints) ints { return operators.Sample(stream.Of(7).Concat(stream.Never[int]()), s) }},
		{name: "SwitchMap", apart: true, apply: func(s ints) ints {
			return operators.SwitchMap(s, func(v int) ints { return stream.Of(v).Delay(300 * ms).Repeat(5) })
		}},
		{name: "FlatMap", apart: true, apply: func(s ints) ints {
			return operators.FlatMap(s, 3, func(v int) ints { return stream.Of(v).Delay(700 * ms).Repeat(5) })
		}},
	}
	for _, op := range append(all(), single...) {
		for name, source := range sources {
			if name == "many" && (op.apart || strings.HasPrefix(op.name, "Share")) {
				continue
			}
			t.Run(op.name+"/"+name, func(t *testing.T) {
				streamtest.Check(t, func() ints { return op.apply(source) })
			})
		}
	}
}

// after500ms runs s half a second later.
func after500ms(s ints) ints {
	return operators.ConcatMap(stream.Timer(500*ms), func(time.Time) ints { return s })
}
