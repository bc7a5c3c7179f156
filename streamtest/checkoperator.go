package streamtest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/stream"
)

// Operator is an operator for [CheckOperator].
type Operator[T, U any] struct {
	// Apply applies the operator. It must create the other sources that the operator needs.
	Apply func(src stream.Stream[T]) stream.Stream[U]
	// Values are the values of its sources, at least one.
	Values []T
	// Ahead is the maximum number of values that its source may make while the consumer is busy with one: 0 for an
	// operator that buffers nothing. A negative number means no limit.
	Ahead int
	// Paced says that the operator is checked only with sources that take time. It is for an operator that runs its
	// sources concurrently: with sources that take no time, its values would differ from run to run.
	Paced bool
}

// CheckOperator fails the test unless an operator keeps the contract of stream.Stream. It passes the operator's streams
// to [Check], over sources that fail and sources that never end, and, only on the clock of a session, over sources that
// end, empty sources, silent sources, and sources without a wait. In addition:
//
//   - while the consumer is busy with a value, the operator's source makes at most Ahead values;
//   - a runtime.Goexit of the source ends the caller's goroutine, and a panic reaches the caller, unchanged or as an
//     error that wraps it; then nothing is left running.
func CheckOperator[T, U any](t *testing.T, op Operator[T, U]) {
	t.Helper()
	if op.Apply == nil || len(op.Values) == 0 {
		panic("streamtest: CheckOperator: Apply is nil or there are no Values")
	}
	for _, source := range op.sources() {
		t.Run(source.name, func(t *testing.T) {
			t.Helper()
			check(t, func() stream.Stream[U] { return op.Apply(source.run) }, source.clocks...)
		})
	}
	for _, c := range op.clauses() {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			inspect(t, t, false, c, nil)
		})
	}
}

// pace is the time between the values of a source that takes time.
const pace = 6 * time.Millisecond

// checkSource is a source with which an operator is checked.
type checkSource[T any] struct {
	name   string
	clocks []string
	values []T
	pace   time.Duration
	end    func(ctx context.Context) error
	made   atomic.Int64
	ended  atomic.Bool // end was called
}

// errSource is the error of a source that fails or panics.
var errSource = errors.New("streamtest: the source's error")

func (op Operator[T, U]) sources() []*checkSource[T] {
	ends := func(context.Context) error { return nil }
	fails := func(context.Context) error { return errSource }
	never := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	session, both := []string{"session clock"}, []string{"session clock", "system clock"}
	all := []*checkSource[T]{
		{name: "empty source", clocks: session, pace: pace, end: ends},
		{name: "ending source", clocks: session, values: op.Values, pace: pace, end: ends},
		{name: "failing source", clocks: both, values: op.Values, pace: pace, end: fails},
		{name: "never ending source", clocks: both, values: op.Values, pace: pace, end: never},
		{name: "source that is empty at once", clocks: session, end: ends},
		{name: "source that does nothing", clocks: session, end: never},
	}
	if !op.Paced {
		all = append(all, &checkSource[T]{name: "source of many values at once", clocks: session, values: op.many(), end: ends})
	}
	return all
}

// many returns more values than Check examines.
func (op Operator[T, U]) many() []T { return slices.Repeat(op.Values, mostValues*3/2/len(op.Values)+1) }

// run is the source as a stream.
func (src *checkSource[T]) run(ctx context.Context, yield func(T) bool) error {
	for i := range len(src.values) + 1 {
		if src.pace > 0 {
			if _, err := stream.Timer(src.pace).Collect(ctx); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if i < len(src.values) {
			src.made.Add(1)
			if !yield(src.values[i]) {
				return nil
			}
		}
	}
	src.ended.Store(true)
	return src.end(ctx)
}

func (op Operator[T, U]) clauses() []clause[U] {
	return []clause[U]{
		{"runs its source no further ahead than it says", op.ahead},
		{"lets a panic of its source pass", op.sourcePanics},
		{"lets a Goexit of its source pass", op.sourceExits},
	}
}

// ahead checks how many values the source makes while the consumer takes an hour.
func (op Operator[T, U]) ahead(in *inspection[U]) {
	src := &checkSource[T]{values: op.many(), pace: pace, end: func(context.Context) error { return nil }}
	most := 0
	tr := in.prepare("slow consumer", op.Apply(src.run))
	tr.answer = func(n int) bool {
		before := src.made.Load()
		time.Sleep(time.Hour)
		most = max(most, int(src.made.Load()-before))
		return n < 10
	}
	tr.start()
	tr.wait(20 * time.Hour)
	tr.cancel(errCause)
	tr.mustReturn()
	if op.Ahead >= 0 && most > op.Ahead {
		tr.fail("the source made %s more while the consumer was busy with one, want at most %d", judge.Count(most, "value"), op.Ahead)
	}
	tr.nothingLeft()
}

func (op Operator[T, U]) sourcePanics(in *inspection[U]) {
	op.crash(in, "a panic of the source", func(context.Context) error { panic(errSource) }, func(value any, _ bool) bool {
		err, _ := value.(error)
		return errors.Is(err, errSource)
	})
}

func (op Operator[T, U]) sourceExits(in *inspection[U]) {
	op.crash(in, "a runtime.Goexit of the source", func(context.Context) error { runtime.Goexit(); return nil },
		func(_ any, exited bool) bool { return exited })
}

// crash runs the operator over sources that do not return. The operator must pass that on, unless it has stopped its
// source before.
func (op Operator[T, U]) crash(in *inspection[U], name string, end func(context.Context) error, passed func(value any, exited bool) bool) {
	for n := range 2 {
		src := &checkSource[T]{values: op.Values[:n], pace: pace, end: end}
		tr := in.prepare(name, op.Apply(src.run)).start()
		tr.wait(mostTime)
		if !tr.returned() && !src.ended.Load() {
			tr.cancel(errCause) // the operator does not run its source
		}
		tr.mustReturn()
		if tr.returned() && src.ended.Load() && !passed(tr.crashed()) {
			tr.fail("it %s, want the same of the stream", tr.outcome())
		}
		tr.nothingLeft()
	}
}
