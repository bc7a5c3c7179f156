package stream_test

import (
	"fmt"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestSkipLast(t *testing.T) {
	for n, want := range []string{"-a--b-c|", "----a-b|", "------a|", "-------|", "-------|"} {
		expectMarbles(t, map[string]marble{
			fmt.Sprint(n): {source: "-a--b-c|", want: want, subs: "^------!"},
		}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] { return src.SkipLast(n) })
	}
	expectMarbles(t, map[string]marble{
		"an empty source":          {source: "---|", want: "---|", subs: "^--!"},
		"one that ends at once":    {source: "|", want: "|", subs: "(^!)"},
		"too few values":           {source: "-a-|", want: "---|", subs: "^--!"},
		"a silent one":             {source: "-", want: "-", subs: "^"},
		"no end":                   {source: "-a-b-c-d-", want: "-----a-b-", subs: "^"},
		"a failure loses the last": {source: "-a-b-c-#", want: "-----a-#", subs: "^------!"},
		"a failure at once":        {source: "#", want: "#", subs: "(^!)"},
		"cancelled in the middle":  {source: "-a-b-c-d|", during: "------!", want: "-----a-", subs: "^-----!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] { return src.SkipLast(2) })
}

func TestSkipLast_OfMany(t *testing.T) {
	for n := range 12 {
		for length := range 30 {
			want := []int{}
			for v := range max(0, length-n) {
				want = append(want, v)
			}
			expect(t, stream.Range(0, length).SkipLast(n), want, nil)
		}
	}
}

func TestSkipLast_StopsAtOnce(t *testing.T) {
	made := 0
	expect(t, stream.Range(0, many).Tap(func(int) { made++ }).SkipLast(2).Take(3), []int{0, 1, 2}, nil)
	if made != 5 {
		t.Errorf("%d made for 3", made)
	}
}
