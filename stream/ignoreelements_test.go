package stream_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestIgnoreElements(t *testing.T) {
	expectMarbles(t, map[string]marble{
		"the end":           {source: "-a--b-c|", want: "-------|", subs: "^------!"},
		"values at once":    {source: "(ab|)", want: "|", subs: "(^!)"},
		"an empty source":   {source: "---|", want: "---|", subs: "^--!"},
		"no end":            {source: "-a--b-", want: "------", subs: "^"},
		"a failure":         {source: "-a--b-#", want: "------#", subs: "^-----!"},
		"a failure at once": {source: "#", want: "#", subs: "(^!)"},
		"cancelled":         {source: "-a--b-c|", during: "---!", want: "----", subs: "^--!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.IgnoreElements()
	})
}
