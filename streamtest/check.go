package streamtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// Check fails the test unless the streams that newStream returns keep the contract of stream.Stream. Each clause is a
// subtest:
//
//   - yield is called on the goroutine that runs the stream, and not after the stream has returned;
//   - when yield returns false, the stream does not call it again and returns nil at once;
//   - when the context ends, before the run, inside a yield or in a wait, the stream yields nothing more and returns at
//     once, with an error that matches context.Cause(ctx); after its last value it may still return nil;
//   - a panic in yield, or a runtime.Goexit, reaches the caller unchanged, and the stream does not panic itself;
//   - when the stream has returned, in whatever way, no goroutine and no timer of it is left;
//   - it can be run again, also concurrently, with the same values at the same times; or the second run fails with
//     stream.ErrNotRestartable.
//
// All runs are in bubbles, once on the clock of a session and once on the system clock. Check examines some of the
// first 100 values and the first minute of virtual time, so whatever is to be checked should happen early. Values at
// the same instant may come in any order. newStream is called in each bubble, any number of times. It must create the
// channels it uses. [CheckOperator] is for operators.
func Check[T any](t *testing.T, newStream func() stream.Stream[T]) {
	t.Helper()
	if newStream == nil {
		panic("streamtest: Check: newStream is nil")
	}
	if virtual.Current().Bubble != 0 {
		panic("streamtest: Check: called inside a synctest bubble; it makes bubbles of its own, so call it from the test itself")
	}
	check(t, newStream, "session clock", "system clock")
}

func check[T any](t *testing.T, newStream func() stream.Stream[T], clocks ...string) {
	t.Helper()
	for _, c := range clauses[T]() {
		for _, clock := range clocks {
			t.Run(c.name+"/"+clock, func(t *testing.T) {
				t.Helper()
				inspect(t, t, clock == "system clock", c, newStream)
			})
		}
	}
}

// The limits of what Check examines.
const (
	mostValues = 100
	mostTime   = time.Minute
)

// clause is one part of the contract.
type clause[T any] struct {
	name  string
	check func(*inspection[T])
}

func clauses[T any]() []clause[T] {
	return []clause[T]{
		{"runs on its caller's goroutine and leaves nothing behind", (*inspection[T]).plain},
		{"stops when yield says so", (*inspection[T]).stop},
		{"does nothing under a context that has ended", (*inspection[T]).cancelledBefore},
		{"stops when the context ends in a yield", (*inspection[T]).cancelledInYield},
		{"stops when the context ends in a wait", (*inspection[T]).cancelledInWait},
		{"lets a panic and a Goexit of yield pass", (*inspection[T]).unwound},
		{"can be run again", (*inspection[T]).again},
		{"can be run side by side", (*inspection[T]).sideBySide},
	}
}

// inspect checks one clause in a bubble of its own.
func inspect[T any](t *testing.T, report virtual.Reporter, system bool, c clause[T], newStream func() stream.Stream[T]) {
	t.Helper()
	in := &inspection[T]{system: system, newStream: newStream}
	defer func() {
		report.Helper()
		for _, fault := range in.seen() {
			report.Errorf("streamtest: Check: %s", fault)
		}
	}()
	deadlock := virtual.Run(t, report, func(t *testing.T, b *virtual.Bubble) {
		b.Expect()
		in.session = newSession(t, b)
		c.check(in)
	})
	if deadlock != nil && len(in.seen()) == 0 {
		in.fail("%v", deadlock)
	}
}

// inspection is the check of one clause.
type inspection[T any] struct {
	session   *Session
	system    bool
	newStream func() stream.Stream[T]

	mu     sync.Mutex
	faults []string // each once
}

func (in *inspection[T]) fail(format string, args ...any) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if fault := fmt.Sprintf(format, args...); !slices.Contains(in.faults, fault) {
		in.faults = append(in.faults, fault)
	}
}

// seen returns the faults so far.
func (in *inspection[T]) seen() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.faults)
}

// fresh returns a new stream.
func (in *inspection[T]) fresh() stream.Stream[T] {
	st := in.newStream()
	if st == nil {
		in.fail("newStream returned a nil stream")
		return stream.Empty[T]()
	}
	return st
}

// errCause is the cause with which the checks cancel.
var errCause = errors.New("streamtest: the cause of a cancellation")

// reference runs the stream, within Check's limits, and returns what it did.
func (in *inspection[T]) reference() *trial[T] {
	return in.completed("run", in.fresh())
}

func (in *inspection[T]) completed(name string, st stream.Stream[T]) *trial[T] {
	tr := in.prepare(name, st).start()
	tr.complete()
	tr.nothingLeft()
	return tr
}

func (in *inspection[T]) plain() {
	tr := in.reference()
	in.session.Advance(mostTime) // late yields are detected
	tr.nothingLeft()
}

// some returns some of the numbers 1 to n: the first ones and the last one.
func some(n int) []int {
	all := []int{1, 2, 3}[:min(n, 3)]
	if n > 3 {
		all = append(all, n)
	}
	return all
}

// at runs the stream until its k-th value, at which do is called; its result is that of yield. Then the stream must
// return.
func (in *inspection[T]) at(what string, k int, do func(tr *trial[T]) bool) *trial[T] {
	tr := in.prepare(fmt.Sprintf("%s value %d", what, k), in.fresh())
	tr.answer = func(n int) bool { return n != k || do(tr) }
	tr.start()
	tr.await(mostTime, func() bool { return tr.values() >= k })
	tr.mustReturn()
	return tr
}

func (in *inspection[T]) stop() {
	for _, k := range some(in.reference().values()) {
		tr := in.at("stop at", k, func(*trial[T]) bool { return false })
		if _, end := tr.history(); end.Err != nil && matches(end.Err, nil) {
			tr.fail("it returned the error %q, want nil", end.Err)
		} else if end.Err != nil {
			tr.fail("it %s, want nil", tr.outcome())
		}
		in.session.Advance(mostTime)
		tr.nothingLeft()
	}
}

func (in *inspection[T]) cancelledBefore() {
	tr := in.prepare("cancelled before the run", in.fresh())
	tr.cancel(errCause)
	tr.start()
	tr.mustReturn()
	if n := tr.values(); n > 0 {
		tr.fail("it yielded %s, want none", judge.Count(n, "value"))
	}
	tr.mustMatch(errCause)
	tr.nothingLeft()
}

func (in *inspection[T]) cancelledInYield() {
	ref := in.reference()
	values, end := ref.history()
	for _, k := range some(len(values)) {
		tr := in.at("cancelled in the yield of", k, func(tr *trial[T]) bool {
			tr.cancel(errCause)
			return true
		})
		if n := tr.values(); n > k {
			tr.fail("it yielded %s more", judge.Count(n-k, "value"))
		}
		_, own := tr.history()
		if last := k == len(values) && !ref.endless && end.Err == nil; !last || own.Err != nil {
			tr.mustMatch(errCause)
		}
		tr.nothingLeft()
	}
}

func (in *inspection[T]) cancelledInWait() {
	for i, at := range in.reference().waits() {
		tr := in.prepare(fmt.Sprintf("cancelled in a wait, at %v", at), in.fresh())
		cause := errCause
		if i%2 == 1 {
			tr.name, cause = fmt.Sprintf("deadline at %v", at), context.DeadlineExceeded
			ctx, release := context.WithTimeout(tr.ctx, at)
			defer release()
			tr.ctx = ctx
		}
		tr.start()
		in.session.Advance(at)
		tr.cancel(errCause) // too late to be the cause if there is a deadline
		tr.mustReturn()
		values, _ := tr.history()
		if n := len(slices.DeleteFunc(values, func(e marble.Event[T]) bool { return e.At < at })); n > 0 {
			tr.fail("it yielded %s more", judge.Count(n, "value"))
		}
		tr.mustMatch(cause)
		tr.nothingLeft()
	}
}

func (in *inspection[T]) unwound() {
	for _, k := range some(in.reference().values()) {
		thrown := new(int)
		tr := in.at("a panic in the yield of", k, func(*trial[T]) bool { panic(thrown) })
		if value, _ := tr.crashed(); tr.returned() && value != any(thrown) {
			tr.fail("the caller of the stream saw %v, want the panic's own value", marble.Show(value))
		}
		tr.nothingLeft()
		tr = in.at("runtime.Goexit in the yield of", k, func(*trial[T]) bool { runtime.Goexit(); return true })
		if _, exited := tr.crashed(); tr.returned() && !exited {
			tr.fail("the caller's goroutine has gone on")
		}
		tr.nothingLeft()
	}
}

func (in *inspection[T]) again() {
	st := in.fresh()
	first := in.completed("first run", st)
	for _, name := range []string{"second run", "third run"} {
		first.compare(in.completed(name, st))
	}
}

func (in *inspection[T]) sideBySide() {
	first := in.reference()
	st := in.fresh()
	one := in.prepare("first of two runs side by side", st).start()
	two := in.prepare("second of two runs side by side", st).start()
	one.complete()
	two.complete()
	first.compare(one)
	first.compare(two)
	one.nothingLeft()
	two.nothingLeft()
}

// compare fails unless b, another run of the stream, did the same or could not run.
func (a *trial[T]) compare(b *trial[T]) {
	was, wasEnd := a.history()
	is, isEnd := b.history()
	switch {
	case errors.Is(isEnd.Err, stream.ErrNotRestartable):
		return
	case len(was) != len(is):
		b.fail("%s, while the %s had %d", judge.Count(len(is), "value"), a.name, len(was))
		return
	}
	for i := range was {
		if was[i].At != is[i].At {
			b.fail("value %d came after %v, in the %s after %v", i+1, is[i].At, a.name, was[i].At)
			return
		}
	}
	for i, v := range is {
		value := b.relative(v.Value)
		k := slices.IndexFunc(was, func(own marble.Event[T]) bool {
			return own.At == v.At && reflect.DeepEqual(a.relative(own.Value), value)
		})
		if k >= 0 {
			was = slices.Delete(was, k, k+1)
		} else if reflect.DeepEqual(value, value) { // false for what cannot be compared, functions for example
			b.fail("value %d is %s, which the %s did not have then", i+1, marble.Show(v.Value), a.name)
			break
		}
	}
	if a.endless != b.endless || !a.endless && (wasEnd.At != isEnd.At || (wasEnd.Err == nil) != (isEnd.Err == nil)) {
		b.fail("%s, while the %s %s", b.outcome(), a.name, a.outcome())
	}
}
