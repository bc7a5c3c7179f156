//go:build go1.27

package stream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func init() {
	none := stream.Stream[int](nil)
	ofANilStreamSince127 = map[string]func(){
		"Count":       func() { none.Count() },
		"First":       func() { none.First() },
		"Last":        func() { none.Last() },
		"MapErr":      func() { none.MapErr(func(err error) error { return err }) },
		"Share":       func() { none.Share() },
		"ShareN":      func() { none.ShareN(1) },
		"ShareReplay": func() { none.ShareReplay(1) },
		"TryFilter":   func() { none.TryFilter(func(context.Context, int) (bool, error) { return true, nil }) },
	}
}

func TestContract_ANilStreamPanicsInEveryMethodSince127(t *testing.T) {
	for name, build := range ofANilStreamSince127 {
		t.Run(name, func(t *testing.T) { expectPanic(t, "stream: "+name+": s is nil", build) })
	}
}
