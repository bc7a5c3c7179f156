package stream_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/stream"
)

// Chains of operators do to a stream what their models do to a slice.
func TestProperty_ChainsMatchSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(-9, 9), 0, 30).Draw(t, "values")
		s, model := stream.FromSlice(values), slices.Clone(values)
		failing := rapid.Bool().Draw(t, "failing")
		var end error
		if failing {
			s, end = s.Concat(stream.Fail[int](errBoom)), errBoom
		}
		for range rapid.IntRange(0, 6).Draw(t, "operators") {
			n := rapid.IntRange(0, 12).Draw(t, "n")
			limit := rapid.IntRange(-9, 9).Draw(t, "limit")
			below := func(v int) bool { return v < limit }
			first := slices.IndexFunc(model, func(v int) bool { return !below(v) })
			switch op := rapid.SampledFrom([]string{"Filter", "Take", "Skip", "TakeWhile", "SkipWhile", "Tap", "OnEnd",
				"Concat", "Repeat", "Catch", "MustNotEnd", "Retry", "Buffer", "Merge", "All"}).Draw(t, "operator"); op {
			case "Filter":
				s, model = s.Filter(below), slices.DeleteFunc(slices.Clone(model), func(v int) bool { return !below(v) })
			case "Take":
				if s = s.Take(n); n <= len(model) {
					model, end = model[:n], nil
				}
			case "Skip":
				s, model = s.Skip(n), model[min(n, len(model)):]
			case "TakeWhile":
				if s = s.TakeWhile(below); first >= 0 {
					model, end = model[:first], nil
				}
			case "SkipWhile":
				if s = s.SkipWhile(below); first < 0 {
					first = len(model)
				}
				model = model[first:]
			case "Tap":
				seen := 0
				s = s.Tap(func(int) { seen++ })
			case "OnEnd":
				s = s.OnEnd(func(error) {})
			case "Concat":
				if s = s.Concat(stream.Of(n)); end == nil {
					model = append(slices.Clone(model), n)
				}
			case "Repeat":
				switch s = s.Repeat(n % 4); {
				case n%4 == 0:
					model, end = nil, nil
				case end == nil:
					model = slices.Repeat(model, n%4)
				}
			case "Catch":
				if s = s.Catch(func(error) stream.Stream[int] { return stream.Of(n) }); end != nil {
					model, end = append(slices.Clone(model), n), nil
				}
			case "MustNotEnd":
				if s = s.MustNotEnd(errCause); end == nil {
					end = errCause
				}
			case "Retry":
				if s = s.Retry(n % 3); end != nil {
					model = slices.Repeat(model, n%3+1)
				}
			case "Buffer":
				s = s.Buffer(n)
			case "Merge":
				s = s.Merge(stream.Empty[int]())
			case "All":
				s = stream.FromSeq2(s.All)
			}
		}
		if len(model) > 5000 {
			t.Skip("too long")
		}
		got, err := s.Collect(t.Context())
		if !slices.Equal(got, model) || err != end {
			t.Fatalf("got %v, %v\nwant %v, %v", got, err, model, end)
		}
		// A consumer that stops sees a prefix, and no error.
		if len(model) == 0 {
			return
		}
		stop := rapid.IntRange(1, len(model)).Draw(t, "stop")
		var seen []int
		if err := s(t.Context(), func(v int) bool { seen = append(seen, v); return len(seen) < stop }); err != nil {
			t.Fatalf("stopped after %d values: %v", stop, err)
		}
		if !slices.Equal(seen, model[:stop]) {
			t.Fatalf("stopped after %d values, got %v, want %v", stop, seen, model[:stop])
		}
	})
}

// The synchronous operators, Timeout among them, allocate nothing for a value.
func TestAllocations_NoneForAValue(t *testing.T) {
	type s = stream.Stream[int]
	yes := func(int) bool { return true }
	no := func(int) bool { return false }
	for name, apply := range map[string]func(s) s{
		"nothing":             func(s s) s { return s },
		"Filter":              func(s s) s { return s.Filter(yes) },
		"DropHeartbeats":      func(s s) s { return s.DropHeartbeats(func(v int) bool { return v%2 == 0 }) },
		"Take":                func(s s) s { return s.Take(1000) },
		"Skip":                func(s s) s { return s.Skip(1) },
		"SkipLast":            func(s s) s { return s.SkipLast(0) },
		"TakeWhile":           func(s s) s { return s.TakeWhile(yes) },
		"SkipWhile":           func(s s) s { return s.SkipWhile(no) },
		"TakeUntilDone":       func(s s) s { return s.TakeUntilDone(make(chan struct{})) },
		"Tap":                 func(s s) s { return s.Tap(func(int) {}) },
		"OnEnd":               func(s s) s { return s.OnEnd(func(error) {}) },
		"Concat":              func(s s) s { return stream.Of(0).Concat(s) },
		"StartWith":           func(s s) s { return s.StartWith() },
		"DefaultIfEmpty":      func(s s) s { return s.DefaultIfEmpty(-1) },
		"SwitchIfEmpty":       func(s s) s { return s.SwitchIfEmpty(stream.Empty[int]()) },
		"SwitchIfEmpty other": func(s s) s { return stream.Empty[int]().SwitchIfEmpty(s) },
		"Merge alone":         func(s s) s { return s.Merge() },
		"Catch":               func(s s) s { return s.Catch(stream.Fail[int]) },
		"Catch other":         func(src s) s { return stream.Fail[int](errBoom).Catch(func(error) s { return src }) },
		"MustNotEnd":          func(s s) s { return s.MustNotEnd(errBoom) },
		"Retry":               func(s s) s { return s.Retry(0) },
		"Repeat":              func(s s) s { return s.Repeat(1) },
		"Timeout":             func(s s) s { return s.Timeout(time.Hour) },
		"Defer":               func(src s) s { return stream.Defer(func(context.Context) s { return src }) },
		"Using": func(src s) s {
			open := func(context.Context) (int, error) { return 0, nil }
			return stream.Using(open, func(int) s { return src }, func(int) error { return nil })
		},
		"All": func(s s) s { return stream.FromSeq2(s.All) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			run := func(n int) float64 {
				s := apply(stream.Range(0, n))
				return testing.AllocsPerRun(5, func() { _ = s(ctx, func(int) bool { return true }) })
			}
			if few, lots := run(10), run(900); few != lots {
				t.Errorf("%v allocations for 10 values, %v for 900", few, lots)
			}
		})
	}
}
