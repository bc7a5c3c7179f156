package operators_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// A log that is read from an offset, and whose connection breaks after every second line.
func ExampleResume() {
	log := []string{"start", "login ann", "login bob", "logout ann", "stop"}
	read := func(offset int) stream.Stream[string] {
		fmt.Println("-- open at", offset)
		if left := log[offset:]; len(left) > 2 {
			return stream.FromSlice(left[:2]).Concat(stream.Fail[string](errors.New("connection reset")))
		}
		return stream.FromSlice(log[offset:])
	}
	next := func(offset int, _ string) int { return offset + 1 }
	policy := operators.ExpBackoff(jitter.Default, time.Millisecond, 5, retry.ResetAfterItems(1))

	lines := operators.Resume(0, read, next, policy)
	err := lines.ForEach(context.Background(), func(line string) { fmt.Println(line) })
	fmt.Println(err)
	// Output:
	// -- open at 0
	// start
	// login ann
	// -- open at 2
	// login bob
	// logout ann
	// -- open at 4
	// stop
	// <nil>
}

// The server keeps revisions only for a limited time. If the next revision is gone, open begins with a snapshot of the
// state, as a watch of Kubernetes or etcd does.
func ExampleResume_lostPosition() {
	errGone := errors.New("410 Gone")
	type event struct {
		revision int
		text     string
	}
	watch := func(revision int) stream.Stream[event] {
		switch {
		case revision == 0:
			return stream.Of(event{1, "a=1"}, event{2, "b=1"}).Concat(stream.Fail[event](errors.New("connection reset")))
		case revision < 90:
			return stream.Fail[event](errGone)
		default:
			return stream.Of(event{revision + 1, "c=1"})
		}
	}
	snapshot := func() stream.Stream[event] { return stream.Of(event{95, "snapshot: a=7 b=3"}) }

	open := func(revision int) stream.Stream[event] {
		return watch(revision).Catch(func(err error) stream.Stream[event] {
			if !errors.Is(err, errGone) {
				return stream.Fail[event](err)
			}
			return operators.ConcatMap(snapshot(), func(s event) stream.Stream[event] {
				return stream.Of(s).Concat(watch(s.revision))
			})
		})
	}
	after := func(_ int, e event) int { return e.revision }
	policy := operators.ExpBackoff(jitter.Default, time.Millisecond, 5, retry.ResetAfterItems(1))

	err := operators.Resume(0, open, after, policy).ForEach(context.Background(), func(e event) { fmt.Println(e.revision, e.text) })
	fmt.Println(err)
	// Output:
	// 1 a=1
	// 2 b=1
	// 95 snapshot: a=7 b=3
	// 96 c=1
	// <nil>
}

// A bookmark is the server's position without an event. It moves the position like any value, and the Filter after
// Resume drops it.
func ExampleResume_bookmark() {
	type envelope struct {
		revision int
		event    string // empty in a bookmark
	}
	watch := func(revision int) stream.Stream[envelope] {
		fmt.Println("-- watch from", revision)
		if revision == 0 {
			return stream.Of(envelope{1, "created"}, envelope{revision: 500}).Concat(stream.Fail[envelope](errors.New("connection reset")))
		}
		return stream.Of(envelope{revision + 1, "deleted"})
	}
	after := func(_ int, e envelope) int { return e.revision }
	policy := operators.ExpBackoff(jitter.Default, time.Millisecond, 5)

	events := operators.Resume(0, watch, after, policy).Filter(func(e envelope) bool { return e.event != "" })
	fmt.Println(operators.Map(events, func(e envelope) string { return e.event }).Collect(context.Background()))
	// Output:
	// -- watch from 0
	// -- watch from 500
	// [created deleted] <nil>
}
