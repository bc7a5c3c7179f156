package streamtest

import (
	"context"
	"strings"
	"testing"

	checks "github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

func TestCheckOperator(t *testing.T) {
	type ints = stream.Stream[int]
	for name, op := range map[string]Operator[int, int]{
		"Filter": {Apply: func(s ints) ints { return s.Filter(func(v int) bool { return v > 1 }) }},
		"Buffer": {Apply: func(s ints) ints { return s.Buffer(5) }, Ahead: 5},
		"Ahead":  {Apply: func(s ints) ints { return s.Buffer(5) }, Ahead: -1},
		"Never":  {Apply: func(ints) ints { return stream.Never[int]() }},
		"Merge":  {Apply: func(s ints) ints { return s.Merge(stream.Empty[int]()) }},
	} {
		op.Values = []int{1, 2, 3}
		t.Run(name, func(t *testing.T) { CheckOperator(t, op) })
	}
}

// Each of these operators breaks one clause of those that only a source can see.
func TestCheckOperator_CatchesEachViolation(t *testing.T) {
	for want, op := range map[string]Operator[int, int]{
		"slow consumer: the source made 5 values more while the consumer was busy with one, want at most 4": {
			Ahead: 4, Apply: func(s stream.Stream[int]) stream.Stream[int] { return s.Buffer(5) }},
		"slow consumer: the source made 1 value more while the consumer was busy with one, want at most 0": {
			Apply: func(s stream.Stream[int]) stream.Stream[int] { return s.Buffer(1) }},
		"a panic of the source: it has ended after 6ms, want the same of the stream": {
			Apply: func(s stream.Stream[int]) stream.Stream[int] {
				return func(ctx context.Context, yield func(int) bool) error {
					defer func() { _ = recover() }()
					return s(ctx, yield)
				}
			}},
		"a panic of the source: the stream has returned and left 1 goroutine running:": {
			Apply: func(s stream.Stream[int]) stream.Stream[int] {
				return func(ctx context.Context, yield func(int) bool) error {
					defer func() {
						if v := recover(); v != nil {
							go func() { <-ctx.Done() }()
							panic(v)
						}
					}()
					return s(ctx, yield)
				}
			}},
		"a runtime.Goexit of the source: it has ended after 6ms, want the same of the stream": {
			Apply: func(s stream.Stream[int]) stream.Stream[int] {
				return func(ctx context.Context, _ func(int) bool) error {
					done := make(chan struct{})
					go func() {
						defer close(done)
						defer func() { _ = recover() }()
						_ = s(ctx, func(int) bool { return true })
					}()
					<-done
					return nil
				}
			}},
	} {
		t.Run(want, func(t *testing.T) {
			op.Values = []int{1, 2, 3}
			catch(t, op.clauses(), false, nil, want)
		})
	}
}

// An operator that is wrong when a source with values ends well.
func TestCheckOperator_TheEndOfASource(t *testing.T) {
	op := Operator[int, int]{Values: []int{1, 2, 3}, Apply: func(s stream.Stream[int]) stream.Stream[int] {
		return s.Concat(stream.Defer(func(context.Context) stream.Stream[int] { panic("ouch") }))
	}}
	r := new(recorder)
	for _, src := range op.sources() {
		if len(src.values) > 0 {
			for _, c := range clauses[int]() {
				inspect(t, r, false, c, func() stream.Stream[int] { return op.Apply(src.run) })
			}
		}
	}
	if text := strings.Join(r.texts, "\n"); !strings.Contains(text, "run: the stream has panicked with ouch") {
		t.Errorf("not caught; reports:\n%s", text)
	}
}

// Every source and every clause is checked.
func TestCheckOperator_ChecksAll(t *testing.T) {
	applied := make(map[int]bool)
	op := Operator[int, int]{Values: []int{1, 2, 3}}
	op.Apply = func(s stream.Stream[int]) stream.Stream[int] {
		applied[virtual.Current().Bubble] = true
		return s
	}
	t.Run("checked", func(t *testing.T) { CheckOperator(t, op) })
	if want := 9*len(clauses[int]()) + 3; len(applied) != want {
		t.Errorf("applied in %d bubbles, want %d", len(applied), want)
	}
	for _, op := range []Operator[int, int]{{Values: []int{1}}, {Apply: op.Apply}} {
		checks.Panics(t, "streamtest: CheckOperator: Apply is nil or there are no Values", func() { CheckOperator(t, op) })
	}
}
