package stream_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestTakeLast(t *testing.T) {
	const source = "--a-b--c-|"
	for n, want := range []string{"|", "---------(c|)", "---------(bc|)", "---------(abc|)", "---------(abc|)"} {
		subs := "^--------!"
		if n == 0 {
			subs = "-" // as Take(0)
		}
		expectMarbles(t, map[string]marble{
			fmt.Sprint(n): {source: source, want: want, subs: subs},
		}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] { return src.TakeLast(n) })
	}
	expectMarbles(t, map[string]marble{
		"an empty source":                  {source: "---|", want: "---|", subs: "^--!"},
		"one that ends at once":            {source: "|", want: "|", subs: "(^!)"},
		"one value":                        {source: "-a-|", want: "---(a|)", subs: "^--!"},
		"a silent one":                     {source: "-", want: "-", subs: "^"},
		"no end, no value":                 {source: "-a-b-c-", want: "-------", subs: "^"},
		"a failure has no last values":     {source: "-a-b-c-#", want: "-------#", subs: "^------!"},
		"a failure at once":                {source: "#", want: "#", subs: "(^!)"},
		"cancelled, there are none either": {source: "-a-b-c-|", during: "----!", want: "-----", subs: "^---!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] { return src.TakeLast(2) })
}

func TestTakeLast_OfMany(t *testing.T) {
	for n := 1; n < 12; n++ {
		for length := range 30 {
			want := []int{}
			for v := max(0, length-n); v < length; v++ {
				want = append(want, v)
			}
			expect(t, stream.Range(0, length).TakeLast(n), want, nil)
		}
	}
}

// However large n is, it takes the memory of the values that there are.
func TestTakeLast_HoldsWhatThereIs(t *testing.T) {
	expect(t, stream.Of(1, 2, 3).TakeLast(int(^uint(0)>>1)), []int{1, 2, 3}, nil)
	expect(t, stream.Of(1, 2, 3).SkipLast(int(^uint(0)>>1)), nil, nil)
}

func TestTakeLast_StopAndCancelAmongThem(t *testing.T) {
	var got []int
	err := stream.Range(0, 10).TakeLast(4)(t.Context(), func(v int) bool { got = append(got, v); return v < 7 })
	if err != nil || !slices.Equal(got, []int{6, 7}) {
		t.Errorf("got %v, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	got = nil
	err = stream.Range(0, 10).TakeLast(4).ForEach(ctx, func(v int) {
		if got = append(got, v); v == 7 {
			cancel(errCause)
		}
	})
	if !endedBy(ctx, err) || !slices.Equal(got, []int{6, 7}) {
		t.Errorf("got %v, %v", got, err)
	}
}
