package streamtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
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
// All runs are in bubbles, once on the clock of a session and once on the system clock. Check examines the first 100
// values and the first minute of virtual time, so whatever is to be checked should happen early. Values at the same
// instant may come in any order. newStream is called in each bubble, any number of times. It must create the channels
// it uses. [CheckOperator] is for operators.
func Check[T any](t *testing.T, newStream func() stream.Stream[T]) {
	t.Helper()
	if newStream == nil {
		panic("streamtest: Check: newStream is nil")
	}
	if goroutine.Current().Bubble != 0 {
		panic("streamtest: Check: called inside a synctest bubble; it makes bubbles of its own, so call it from the test itself")
	}
	check(t, newStream, "session clock", "system clock")
}

func check[T any](t *testing.T, newStream func() stream.Stream[T], clocks ...string) {
	t.Helper()
	for _, c := range clauses[T]() {
		for _, clock := range clocks {
			t.Run(c.name+"/"+clock, func(t *testing.T) {
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
	deadlock := virtual.Run(t, report, func(t *testing.T, b *virtual.Bubble) {
		t.Helper()
		b.Expect()
		in.session = newSession(t, b)
		in.report = b.Report
		defer func() {
			if v := recover(); v != nil && v != any(abandoned{}) {
				panic(v)
			}
		}()
		c.check(in)
	})
	if deadlock != nil && !in.failed.Load() {
		in.report = report
		in.fail("%v", deadlock)
	}
}

// inspection is the check of one clause.
type inspection[T any] struct {
	report    virtual.Reporter
	session   *Session
	system    bool
	newStream func() stream.Stream[T]
	failed    atomic.Bool
}

func (in *inspection[T]) fail(format string, args ...any) {
	in.report.Helper()
	in.failed.Store(true)
	in.report.Errorf("streamtest: Check: "+format, args...)
}

// abandoned is the panic value of a check that cannot continue.
type abandoned struct{}

// fresh returns a new stream.
func (in *inspection[T]) fresh() stream.Stream[T] {
	in.report.Helper()
	st := in.newStream()
	if st == nil {
		in.fail("newStream returned a nil stream")
		panic(abandoned{})
	}
	return st
}

// errCause is the cause with which the checks cancel.
var errCause = errors.New("streamtest: the cause of a cancellation")

// reference runs the stream, within Check's limits, and returns what it did.
func (in *inspection[T]) reference() *trial[T] {
	in.report.Helper()
	tr := in.start("run", in.fresh(), func(i int) bool { return i < mostValues })
	in.complete(tr)
	return tr
}

func (in *inspection[T]) plain() {
	in.report.Helper()
	tr := in.reference()
	in.session.Advance(mostTime) // late yields are detected
	tr.nothingLeft()
}

// some returns some of the numbers 1 to n: the first ones and the last one.
func some(n int) (all []int) {
	for _, k := range []int{1, 2, 3, n} {
		if k > 0 && k <= n && (len(all) == 0 || k > all[len(all)-1]) {
			all = append(all, k)
		}
	}
	return all
}

func (in *inspection[T]) stop() {
	in.report.Helper()
	for _, k := range some(len(in.reference().at)) {
		tr := in.start(fmt.Sprintf("stop at value %d", k), in.fresh(), func(i int) bool { return i < k })
		tr.until(k)
		tr.mustReturn()
		if tr.hasReturned() && tr.err != nil {
			in.fail("%s: it returned the error %q, want nil", tr.name, tr.err)
		}
		in.session.Advance(mostTime)
		tr.nothingLeft()
	}
}

func (in *inspection[T]) cancelledBefore() {
	in.report.Helper()
	tr := in.prepare("cancelled before the run", in.fresh(), func(int) bool { return true })
	tr.cancel(errCause)
	tr.run()
	tr.mustReturn()
	if n := tr.values(); n > 0 {
		in.fail("%s: it yielded %s, want none", tr.name, count(n, "value"))
	}
	tr.mustMatch(errCause)
	tr.nothingLeft()
}

func (in *inspection[T]) cancelledInYield() {
	in.report.Helper()
	ref := in.reference()
	for _, k := range some(len(ref.at)) {
		var tr *trial[T]
		tr = in.prepare(fmt.Sprintf("cancelled in the yield of value %d", k), in.fresh(), func(i int) bool {
			if i == k {
				tr.cancel(errCause)
			}
			return true
		})
		tr.run()
		tr.until(k)
		tr.mustReturn()
		if n := tr.values(); n > k {
			in.fail("%s: it yielded %s more", tr.name, count(n-k, "value"))
		}
		if last := k == len(ref.at) && !ref.endless && ref.err == nil; !last || tr.err != nil {
			tr.mustMatch(errCause)
		}
		tr.nothingLeft()
	}
}

func (in *inspection[T]) cancelledInWait() {
	in.report.Helper()
	for i, at := range in.reference().waits() {
		tr := in.prepare(fmt.Sprintf("cancelled in a wait, at %v", at), in.fresh(), func(int) bool { return true })
		if i%2 == 0 {
			tr.run()
			in.session.Advance(at)
			if tr.hasReturned() {
				continue // it differs from run to run
			}
			tr.cancel(errCause)
			tr.mustReturn()
			tr.mustMatch(errCause)
		} else {
			tr.name = fmt.Sprintf("deadline at %v", at)
			ctx, cancel := context.WithTimeout(tr.ctx, at)
			tr.ctx = ctx
			tr.run()
			in.session.Advance(at)
			tr.mustReturn()
			tr.mustMatch(context.DeadlineExceeded)
			cancel()
		}
		tr.nothingLeft()
	}
}

func (in *inspection[T]) unwound() {
	in.report.Helper()
	for _, k := range some(len(in.reference().at)) {
		thrown := new(int)
		tr := in.start(fmt.Sprintf("a panic in the yield of value %d", k), in.fresh(), func(i int) bool {
			if i == k {
				panic(thrown)
			}
			return true
		})
		tr.until(k)
		tr.mustReturn()
		if tr.hasReturned() && tr.panicked != any(thrown) {
			in.fail("%s: the caller of the stream saw %v, want the panic's own value", tr.name, marble.Show(tr.panicked))
		}
		tr.nothingLeft()
		tr = in.start(fmt.Sprintf("runtime.Goexit in the yield of value %d", k), in.fresh(), func(i int) bool {
			if i == k {
				runtime.Goexit()
			}
			return true
		})
		tr.until(k)
		tr.mustReturn()
		if tr.hasReturned() && !tr.exited {
			in.fail("%s: the caller's goroutine has gone on", tr.name)
		}
		tr.nothingLeft()
	}
}

func (in *inspection[T]) again() {
	in.report.Helper()
	st := in.fresh()
	var first *trial[T]
	for i, name := range []string{"first run", "second run", "third run"} {
		tr := in.start(name, st, func(i int) bool { return i < mostValues })
		in.complete(tr)
		if i == 0 {
			first = tr
			continue
		}
		if !errors.Is(tr.err, stream.ErrNotRestartable) {
			in.compare(first, tr)
		}
	}
}

func (in *inspection[T]) sideBySide() {
	in.report.Helper()
	first := in.reference()
	st := in.fresh()
	var all []*trial[T]
	for _, name := range []string{"first of two runs side by side", "second of two runs side by side"} {
		all = append(all, in.start(name, st, func(i int) bool { return i < mostValues }))
	}
	for _, tr := range all {
		tr.wait(mostTime - time.Since(tr.from))
	}
	for _, tr := range all {
		if !tr.hasReturned() {
			tr.endless = true
			tr.cancel(errCause)
		}
		tr.mustReturn()
		if !errors.Is(tr.err, stream.ErrNotRestartable) {
			in.compare(first, tr)
		}
	}
	all[0].nothingLeft()
	all[1].nothingLeft()
}

// complete waits for the end of a run, within Check's limits.
func (in *inspection[T]) complete(tr *trial[T]) {
	in.report.Helper()
	tr.wait(mostTime)
	if !tr.hasReturned() {
		tr.endless = true
		tr.cancel(errCause)
		tr.mustReturn()
	} else if tr.panicked != nil || tr.exited {
		in.fail("%s: the stream %s", tr.name, tr.end())
	}
	tr.nothingLeft()
}

// compare fails unless two runs of one stream did the same.
func (in *inspection[T]) compare(a, b *trial[T]) {
	in.report.Helper()
	if len(a.at) != len(b.at) {
		in.fail("%s: %s, while the %s had %d", b.name, count(len(b.at), "value"), a.name, len(a.at))
		return
	}
	for i := range a.at {
		if a.at[i] != b.at[i] {
			in.fail("%s: value %d came after %v, in the %s after %v", b.name, i+1, b.at[i], a.name, a.at[i])
			return
		}
	}
	if i := a.differsFrom(b); i >= 0 {
		in.fail("%s: value %d is %s, which the %s did not have then", b.name, i+1, marble.Show(b.got[i]), a.name)
	}
	if a.endless != b.endless || !a.endless && (a.ended != b.ended || (a.err == nil) != (b.err == nil)) {
		in.fail("%s: %s, while the %s %s", b.name, b.end(), a.name, a.end())
	}
}

// differsFrom returns the index of the first value of b for which a has no equal at that instant, or -1. Values that
// reflect.DeepEqual cannot compare, functions for example, count as equal. Times count from the beginning of a run.
func (a *trial[T]) differsFrom(b *trial[T]) int {
	left := make([]bool, len(a.got))
	for i := range b.got {
		v := b.relative(i)
		if !reflect.DeepEqual(v, v) {
			continue
		}
		found := false
		for k := range a.got {
			if !left[k] && a.at[k] == b.at[i] && reflect.DeepEqual(a.relative(k), v) {
				left[k], found = true, true
				break
			}
		}
		if !found {
			return i
		}
	}
	return -1
}
