package stream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestDefaultIfEmpty(t *testing.T) {
	expectMarbles(t, map[string]marble{
		"a source with values":    {source: "--a--b|", want: "--a--b|", subs: "^-----!"},
		"an empty source":         {source: "-----|", want: "-----(x|)", subs: "^----!"},
		"one that ends at once":   {source: "|", want: "(x|)", subs: "(^!)"},
		"a silent one":            {source: "-", want: "-", subs: "^"},
		"a value and no end":      {source: "-a-", want: "-a-", subs: "^"},
		"a failure":               {source: "----#", want: "----#", subs: "^---!"},
		"a failure at once":       {source: "#", want: "#", subs: "(^!)"},
		"a failure after a value": {source: "--a--#", want: "--a--#", subs: "^----!"},
		"cancelled":               {source: "-----|", during: "---!", want: "----", subs: "^--!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.DefaultIfEmpty("x")
	})
}

func TestSwitchIfEmpty(t *testing.T) {
	expectMarbles(t, map[string]marble{
		"a source with values":    {source: "--a--b|", want: "--a--b|", subs: "^-----!"},
		"an empty source":         {source: "---|", want: "----x-y|", subs: "^--!"},
		"one that ends at once":   {source: "|", want: "-x-y|", subs: "(^!)"},
		"a silent one":            {source: "-", want: "-", subs: "^"},
		"a failure":               {source: "---#", want: "---#", subs: "^--!"},
		"a failure after a value": {source: "--a--#", want: "--a--#", subs: "^----!"},
		"cancelled in the other":  {source: "---|", during: "-----!", want: "----x-", subs: "^--!"},
	}, func(s *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.SwitchIfEmpty(streamtest.Cold[string](s, "-x-y|").Stream)
	})
}

// The other stream takes over with all it does, its failure too.
func TestSwitchIfEmpty_TheOthersFailure(t *testing.T) {
	expect(t, stream.Empty[int]().SwitchIfEmpty(stream.Fail[int](errBoom)), nil, errBoom)
}

// A consumer that stops at the first value has had one.
func TestSwitchIfEmpty_AStopIsNotEmpty(t *testing.T) {
	other := stream.Stream[int](func(context.Context, func(int) bool) error { t.Error("the other was run"); return nil })
	expect(t, stream.Of(1, 2).SwitchIfEmpty(other).Take(1), []int{1}, nil)
}

// A source that ends because it was cancelled is not empty.
func TestDefaultIfEmpty_CancelledSource(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	careless := stream.Stream[int](func(context.Context, func(int) bool) error { cancel(errCause); return nil })
	other := stream.Stream[int](func(context.Context, func(int) bool) error { t.Error("the other was run"); return nil })
	if got, err := careless.SwitchIfEmpty(other).Collect(ctx); got != nil || !endedBy(ctx, err) {
		t.Errorf("got %v, %v", got, err)
	}
}
