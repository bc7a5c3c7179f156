package operators_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
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

// Some servers respond to a lost position with 200 and the end of the response, so no error says that it is lost.
// Several ends in a row without a value do: the policy's limit, after which Catch goes on with the snapshot.
func ExampleResume_lostWithoutAnError() {
	errEnded := errors.New("the watch ended")
	type event struct {
		revision int
		text     string
	}
	watch := func(revision int) stream.Stream[event] {
		fmt.Println("-- watch after", revision)
		if revision < 90 {
			return stream.Empty[event]()
		}
		return stream.Of(event{revision + 1, "c=1"})
	}
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(2), retry.ResetAfterItems(1), retry.ResetAfter(time.Minute))
	snapshot := stream.Of(event{95, "snapshot: a=7 b=3"}).RetryWhen(policy)

	var follow func(at int) stream.Stream[event]
	follow = func(at int) stream.Stream[event] {
		open := func(at int) stream.Stream[event] { return watch(at).MustNotEnd(errEnded) }
		after := func(_ int, e event) int { return e.revision }
		return operators.Resume(at, open, after, policy).Catch(func(err error) stream.Stream[event] {
			if !errors.Is(err, retry.ErrLimit) || !errors.Is(err, errEnded) {
				return stream.Fail[event](err)
			}
			return operators.ConcatMap(snapshot, func(s event) stream.Stream[event] { return stream.Of(s).Concat(follow(s.revision)) })
		})
	}
	err := follow(7).Take(2).ForEach(context.Background(), func(e event) { fmt.Println(e.revision, e.text) })
	fmt.Println(err)
	// Output:
	// -- watch after 7
	// -- watch after 7
	// -- watch after 7
	// 95 snapshot: a=7 b=3
	// -- watch after 95
	// 96 c=1
	// <nil>
}

// A watch, as of Kubernetes or etcd. Its progress notifications are bookmarks: they move the position while nothing
// happens, so that the next connection does not ask for a revision that is compacted by then. If it is compacted all
// the same, the watch begins with a snapshot of all rows. Its last row bears its revision; a break inside the snapshot
// begins the snapshot again.
func ExampleResumeMarked() {
	type marked = operators.Marked[string, int]
	errCompacted := errors.New("compacted")
	reset := stream.Fail[marked](errors.New("connection reset"))
	connections := 0
	watch := func(revision int) stream.Stream[marked] {
		fmt.Println("-- watch after", revision)
		switch connections++; connections {
		case 1:
			return stream.Of(marked{Value: "x=1", At: 41}, marked{At: 60, Bookmark: true}).Concat(reset)
		case 2:
			return stream.Fail[marked](errCompacted) // the server has forgotten everything before 90
		}
		return stream.Of(marked{Value: "y=7", At: 98})
	}
	list := func() stream.Stream[marked] { // all rows, at revision 97
		fmt.Println("-- list")
		snapshot := stream.Of(marked{Value: "x=5"}, marked{Value: "y=6"}, marked{Value: "z=1", At: 97})
		if connections++; connections == 3 {
			return snapshot.Take(2).Concat(reset)
		}
		return snapshot
	}

	open := func(revision int) stream.Stream[marked] {
		if revision == 0 {
			return list().Concat(stream.Defer(func(context.Context) stream.Stream[marked] { return watch(97) }))
		}
		return watch(revision).Catch(func(err error) stream.Stream[marked] {
			if errors.Is(err, errCompacted) {
				return stream.Of(marked{At: 0, Bookmark: true}).Concat(stream.Fail[marked](err)) // the next attempt lists
			}
			return stream.Fail[marked](err)
		})
	}
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(5), retry.ResetAfterItems(1))
	rows := operators.ResumeMarked(40, open, policy)
	fmt.Println(rows.ForEach(context.Background(), func(row string) { fmt.Println(row) }))
	// Output:
	// -- watch after 40
	// x=1
	// -- watch after 60
	// -- list
	// x=5
	// y=6
	// -- list
	// x=5
	// y=6
	// z=1
	// -- watch after 97
	// y=7
	// <nil>
}

// A program that stores its position continues there when it is started anew. While the source is idle, its bookmarks
// keep the stored position young: the server forgets old positions.
func ExampleResumePositions() {
	type marked = operators.Marked[string, int]
	stored := 40
	watch := func(revision int) stream.Stream[marked] {
		fmt.Println("watch after", revision)
		if revision > 40 {
			return stream.Of(marked{Value: "y=7", At: 98})
		}
		return stream.Of(marked{Value: "x=1", At: 41}, marked{At: 97, Bookmark: true})
	}
	run := func() error {
		feed := operators.ResumePositions(stored, watch, retry.Default)
		return feed.ForEach(context.Background(), func(m marked) {
			if !m.Bookmark {
				fmt.Println(m.Value)
			}
			stored = m.At // with the effect of m.Value, in one transaction
		})
	}
	fmt.Println(run(), run()) // the program is started twice
	// Output:
	// watch after 40
	// x=1
	// watch after 97
	// y=7
	// <nil> <nil>
}

// A change stream of transactions, whose rows share one position, the transaction's. All rows but the last bear the
// position before the transaction. So a transaction that is cut comes again whole; with the transaction's own position
// on each row, the rest of it would be lost.
func ExampleMarked() {
	type marked = operators.Marked[string, int]
	transactions := [][]string{{"ann +5"}, {"ann -3", "bob +3"}, {"bob +1"}}
	cut := true
	open := func(done int) stream.Stream[marked] {
		var rows []marked
		for i := done; i < len(transactions); i++ {
			for _, row := range transactions[i] {
				rows = append(rows, marked{Value: row, At: i})
			}
			rows[len(rows)-1].At = i + 1
		}
		if cut {
			cut = false
			return stream.FromSlice(rows[:2]).Concat(stream.Fail[marked](errors.New("connection reset")))
		}
		return stream.FromSlice(rows)
	}
	rows, err := operators.ResumeMarked(0, open, operators.ExpBackoff(jitter.Default, time.Millisecond, 5)).Collect(context.Background())
	fmt.Printf("%q %v\n", rows, err)
	// Output: ["ann +5" "ann -3" "ann -3" "bob +3" "bob +1"] <nil>
}

// A table that is polled by the time of its rows' last change. Rows may have one time, so the position is the time and
// the id: WHERE (changed, id) > (?, ?) ORDER BY changed, id LIMIT 2.
func ExamplePoll() {
	type row struct {
		changed int64 // in microseconds, as the database has it
		id      int
	}
	table := []row{{100, 1}, {200, 2}, {200, 3}, {200, 4}, {300, 5}}
	failed := false
	page := func(_ context.Context, at row) ([]row, row, error) {
		if at.id == 2 && !failed {
			failed = true
			return nil, at, errors.New("connection reset")
		}
		var rows []row
		for _, r := range table {
			if (r.changed > at.changed || r.changed == at.changed && r.id > at.id) && len(rows) < 2 {
				rows = append(rows, r)
			}
		}
		fmt.Println("after", at, "come", rows)
		if len(rows) == 0 {
			return nil, at, nil
		}
		return rows, rows[len(rows)-1], nil
	}
	policy := operators.ExpBackoff(jitter.Default, time.Millisecond, 5, retry.ResetAfterItems(1))
	changes := operators.Poll(time.Second, row{}, page, policy)
	fmt.Println(changes.Take(5).Collect(context.Background()))
	// Output:
	// after {0 0} come [{100 1} {200 2}]
	// after {200 2} come [{200 3} {200 4}]
	// after {200 4} come [{300 5}]
	// [{100 1} {200 2} {200 3} {200 4} {300 5}] <nil>
}

// A list in pages, whose last page has an empty token although later it grows. The position is the token and the number
// of values taken behind it: so the last page is asked for again, every second, and what is known of it is dropped.
func ExamplePoll_list() {
	type position struct {
		token string
		taken int
	}
	lists := 0
	list := func(token string) (values []string, next string) { // the server
		if lists++; token == "" {
			return []string{"a", "b"}, "page 2"
		}
		return []string{"c", "d"}[:min(lists/2, 2)], "" // it grows
	}
	page := func(_ context.Context, at position) ([]string, position, error) {
		values, next := list(at.token)
		fmt.Printf("list(%q) returns %q, and the token %q\n", at.token, values, next)
		fresh := values[min(at.taken, len(values)):]
		if next != "" {
			return fresh, position{token: next}, nil
		}
		return fresh, position{at.token, len(values)}, nil
	}
	values := operators.Poll(time.Millisecond, position{}, page, operators.ExpBackoff(jitter.Default, time.Millisecond, 5))
	fmt.Println(values.Take(4).Collect(context.Background()))
	// Output:
	// list("") returns ["a" "b"], and the token "page 2"
	// list("page 2") returns ["c"], and the token ""
	// list("page 2") returns ["c"], and the token ""
	// list("page 2") returns ["c" "d"], and the token ""
	// [a b c d] <nil>
}

// With the token alone as its position, the last page would lead to the first one, and the list would come again and
// again, without a pause.
func ExamplePoll_stuck() {
	list := map[string]struct {
		values []string
		next   string
	}{"": {[]string{"a", "b"}, "page 2"}, "page 2": {[]string{"c"}, ""}}
	values := operators.Poll(time.Second, "", func(_ context.Context, token string) ([]string, string, error) {
		return list[token].values, list[token].next, nil
	}, retry.Default)
	_, err := values.Collect(context.Background())
	fmt.Println(errors.Is(err, operators.ErrStuck), err)
	// Output:
	// true operators: Poll: the position does not advance: the page at "page 2" (1 values) leads to "", which came before
}
