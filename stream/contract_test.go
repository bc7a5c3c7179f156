package stream_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"testing"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// What an operator is built with is checked when it is built.
func TestContract_MistakesPanicAtConstruction(t *testing.T) {
	s, none := stream.Of(1), stream.Stream[int](nil)
	opened := func(context.Context) (int, error) { return 1, nil }
	of := func(v int) stream.Stream[int] { return stream.Of(v) }
	closed := func(int) error { return nil }
	const max = int(^uint(0) >> 1)
	most := uint64(1<<47) / (8 + 64) // an address space, by an int and what is stored with it
	if strconv.IntSize == 32 {
		most = (1 << 30) / (4 + 64)
	}
	for want, build := range map[string]func(){
		"stream: FromSeq: seq is nil":                 func() { stream.FromSeq[int](nil) },
		"stream: FromSeq2: open is nil":               func() { stream.FromSeq2[int](nil) },
		"stream: FromFunc: f is nil":                  func() { stream.FromFunc[int](nil) },
		"stream: FromChan: ch is nil":                 func() { stream.FromChan[int](nil) },
		"stream: FromChans: open is nil":              func() { stream.FromChans[int](nil) },
		"stream: FromCallbacks: listen is nil":        func() { stream.FromCallbacks[int](nil) },
		"stream: Defer: f is nil":                     func() { stream.Defer[int](nil) },
		"stream: Using: open is nil":                  func() { stream.Using(nil, of, closed) },
		"stream: Using: use is nil":                   func() { stream.Using[int, int](opened, nil, closed) },
		"stream: Using: close is nil":                 func() { stream.Using(opened, of, nil) },
		"stream: Fail: err is nil":                    func() { stream.Fail[int](nil) },
		"stream: Range: count is -1, want at least 0": func() { stream.Range(0, -1) },
		fmt.Sprintf("stream: Range: first is %d and count is 2, which leads past the largest int", max): func() { stream.Range(max, 2) },
		"stream: Interval: d is 0s, want more than 0":                                                   func() { stream.Interval(0) },
		"stream: TryForEach: f is nil":                                                                  func() { _ = s.TryForEach(t.Context(), nil) },
		"stream: SwitchIfEmpty: other is nil":                                                           func() { s.SwitchIfEmpty(nil) },
		"stream: TakeLast: n is -1, want at least 0":                                                    func() { s.TakeLast(-1) },
		"stream: SkipLast: n is -1, want at least 0":                                                    func() { s.SkipLast(-1) },
		"stream: ForEach: f is nil":                                                                     func() { _ = s.ForEach(t.Context(), nil) },
		"stream: Chans: buffer is -1, want at least 0":                                                  func() { s.Chans(t.Context(), -1) },
		"stream: Filter: keep is nil":                                                                   func() { s.Filter(nil) },
		"stream: Take: n is -1, want at least 0":                                                        func() { s.Take(-1) },
		"stream: Skip: n is -1, want at least 0":                                                        func() { s.Skip(-1) },
		"stream: TakeWhile: f is nil":                                                                   func() { s.TakeWhile(nil) },
		"stream: SkipWhile: f is nil":                                                                   func() { s.SkipWhile(nil) },
		"stream: Tap: f is nil":                                                                         func() { s.Tap(nil) },
		"stream: OnEnd: f is nil":                                                                       func() { s.OnEnd(nil) },
		"stream: Concat: others[1] is nil":                                                              func() { s.Concat(s, none) },
		"stream: Merge: others[0] is nil":                                                               func() { s.Merge(none) },
		"stream: Catch: f is nil":                                                                       func() { s.Catch(nil) },
		"stream: MustNotEnd: err is nil":                                                                func() { s.MustNotEnd(nil) },
		"stream: Repeat: n is -1, want at least 0":                                                      func() { s.Repeat(-1) },
		"stream: Timeout: d is 0s, want more than 0":                                                    func() { s.Timeout(0) },
		"stream: Delay: d is -1ns, want at least 0":                                                     func() { s.Delay(-1) },
		"stream: Debounce: d is -1ns, want at least 0":                                                  func() { s.Debounce(-1) },
		"stream: Throttle: d is -1ns, want at least 0":                                                  func() { s.Throttle(-1) },
		"stream: ThrottleLatest: d is -1ns, want at least 0":                                            func() { s.ThrottleLatest(-1) },
		"stream: TimeShift: d is -1ns, want at least 0":                                                 func() { s.TimeShift(-1, 1) },
		"stream: TimeShift: n is 0, want at least 1":                                                    func() { s.TimeShift(1, 0) },
		"stream: Buffer: n is -1, want at least 0":                                                      func() { s.Buffer(-1) },
		"stream: WithClock: c is nil":                                                                   func() { stream.WithClock[stream.Stopper](t.Context(), nil) },
		fmt.Sprintf("stream: Buffer: n is %d, want at most %d", max, most):                              func() { s.Buffer(max) },
		fmt.Sprintf("stream: Chans: buffer is %d, want at most %d", max, most):                          func() { s.Chans(t.Context(), max) },
	} {
		t.Run(want, func(t *testing.T) { expectPanic(t, want, build) })
	}
}

// ofANilStream calls each method on a nil stream.
func ofANilStream(ctx context.Context) map[string]func() {
	none := stream.Stream[int](nil)
	yes := func(int) bool { return true }
	return map[string]func(){
		"All":            func() { none.All(ctx) },
		"Buffer":         func() { none.Buffer(0) },
		"Catch":          func() { none.Catch(stream.Fail) },
		"Chans":          func() { none.Chans(ctx, 0) },
		"Collect":        func() { _, _ = none.Collect(ctx) },
		"Concat":         func() { none.Concat() },
		"Debounce":       func() { none.Debounce(0) },
		"DefaultIfEmpty": func() { none.DefaultIfEmpty(1) },
		"Delay":          func() { none.Delay(0) },
		"Filter":         func() { none.Filter(yes) },
		"ForEach":        func() { _ = none.ForEach(ctx, func(int) {}) },
		"IgnoreElements": func() { none.IgnoreElements() },
		"Merge":          func() { none.Merge() },
		"MustNotEnd":     func() { none.MustNotEnd(errBoom) },
		"OnEnd":          func() { none.OnEnd(func(error) {}) },
		"One":            func() { _, _ = none.One(ctx) },
		"Repeat":         func() { none.Repeat(1) },
		"Retry":          func() { none.Retry(1) },
		"RetryWhen":      func() { none.RetryWhen(retry.Default) },
		"Skip":           func() { none.Skip(0) },
		"SkipLast":       func() { none.SkipLast(0) },
		"SkipWhile":      func() { none.SkipWhile(yes) },
		"StartWith":      func() { none.StartWith(1) },
		"SwitchIfEmpty":  func() { none.SwitchIfEmpty(stream.Of(1)) },
		"Take":           func() { none.Take(1) },
		"TakeLast":       func() { none.TakeLast(0) },
		"TakeUntilDone":  func() { none.TakeUntilDone(nil) },
		"TakeWhile":      func() { none.TakeWhile(yes) },
		"Tap":            func() { none.Tap(func(int) {}) },
		"ThrottleLatest": func() { none.ThrottleLatest(0) },
		"TimeShift":      func() { none.TimeShift(0, 1) },
		"Throttle":       func() { none.Throttle(0) },
		"Timeout":        func() { none.Timeout(1) },
		"TryForEach":     func() { _ = none.TryForEach(ctx, func(context.Context, int) error { return nil }) },
	}
}

// A nil stream is refused where an operator is built of it, or a sink runs it, by that operator's name.
func TestContract_ANilStreamPanicsAtConstruction(t *testing.T) {
	for name, build := range ofANilStream(t.Context()) {
		t.Run(name, func(t *testing.T) { expectPanic(t, "stream: "+name+": the stream is nil", build) })
	}
}

// ofANilStreamSince127 has the methods that are there from Go 1.27 on.
var ofANilStreamSince127 map[string]func()

func TestContract_ANilStreamPanicsInEveryMethod(t *testing.T) {
	built := ofANilStream(t.Context())
	maps.Copy(built, ofANilStreamSince127)
	for method := range reflect.TypeFor[stream.Stream[int]]().Methods() {
		if built[method.Name] == nil {
			t.Errorf("%s is not in the table", method.Name)
		}
	}
}
