// Package migrating contains the code of docs/migrating.md, and checks that before and after do the same.
package migrating

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	avastafter "github.com/retrywhen/retrywhen/benchmarks/migrating/avast/after"
	avastbefore "github.com/retrywhen/retrywhen/benchmarks/migrating/avast/before"
	cenkaltiafter "github.com/retrywhen/retrywhen/benchmarks/migrating/cenkalti/after"
	cenkaltibefore "github.com/retrywhen/retrywhen/benchmarks/migrating/cenkalti/before"
	rxgoafter "github.com/retrywhen/retrywhen/benchmarks/migrating/rxgo/after"
	rxgobefore "github.com/retrywhen/retrywhen/benchmarks/migrating/rxgo/before"
	samberafter "github.com/retrywhen/retrywhen/benchmarks/migrating/samber/after"
	samberbefore "github.com/retrywhen/retrywhen/benchmarks/migrating/samber/before"
)

var errBusy = errors.New("busy")

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	os.Exit(m.Run())
}

// TestTheDocumentHasTheCode compares the document's blocks with the files. Each block begins with a package clause, and
// the line before it names the file.
func TestTheDocumentHasTheCode(t *testing.T) {
	text, err := os.ReadFile("../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)benchmarks/migrating/(\\S+\\.go)\\)[^\n]*\n\n```go(?:lang)?\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks[m[1]] = m[2]
	}
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := blocks[filepath.ToSlash(file)]; got != string(code) {
			t.Errorf("docs/migrating.md has not the code of %s; it has\n%s", file, got)
		}
	}
	if len(files) != 8 || len(blocks) != len(files) {
		t.Errorf("%d files and %d blocks, want 8 of each", len(files), len(blocks))
	}
}

// TestCallsDoTheSame compares the number of calls and the results.
func TestCallsDoTheSame(t *testing.T) {
	type fetch func(context.Context, func(context.Context) (string, error)) (string, error)
	for _, c := range []struct {
		name          string
		before, after fetch
		notFound      [2]error
	}{
		{"cenkalti", cenkaltibefore.Fetch, cenkaltiafter.Fetch, [2]error{cenkaltibefore.ErrNotFound, cenkaltiafter.ErrNotFound}},
		{"avast", avastbefore.Fetch, avastafter.Fetch, [2]error{avastbefore.ErrNotFound, avastafter.ErrNotFound}},
	} {
		for fails := range 8 {
			for _, permanent := range []bool{false, true} {
				var outcomes [2]string
				for i, f := range []fetch{c.before, c.after} {
					synctest.Test(t, func(t *testing.T) {
						failure, calls := errBusy, 0
						if permanent {
							failure = c.notFound[i]
						}
						page, err := f(t.Context(), func(context.Context) (string, error) {
							if calls++; calls <= fails {
								return "", failure
							}
							return "page", nil
						})
						outcomes[i] = fmt.Sprint(calls, page, errors.Is(err, failure))
					})
				}
				if outcomes[0] != outcomes[1] {
					t.Errorf("%s, %d failures, permanent %v: before %s, after %s", c.name, fails, permanent, outcomes[0], outcomes[1])
				}
			}
		}
	}
}

// script is what a source does in each of its runs: lines, and then a failure, except in the last run.
var script = [][]string{{"a", "b"}, {}, {}, {"c"}, {}, {"d"}}

// TestFeedsDoTheSame compares the values of a stream, and their times.
func TestFeedsDoTheSame(t *testing.T) {
	for _, attempts := range []int{1, 3, 6} {
		var outcomes [2]string
		synctest.Test(t, func(t *testing.T) {
			began, n := time.Now(), 0
			lines, err := samberbefore.Feed(t.Context(), func(_ context.Context, line func(string)) error {
				return play(attempts, &n, func(s string) bool { line(s); return true })
			})
			outcomes[0] = fmt.Sprint(lines, err, n, time.Since(began))
		})
		synctest.Test(t, func(t *testing.T) {
			began, n := time.Now(), 0
			lines, err := samberafter.Feed(t.Context(), func(_ context.Context, line func(string) bool) error {
				return play(attempts, &n, line)
			})
			outcomes[1] = fmt.Sprint(lines, err, n, time.Since(began))
		})
		if outcomes[0] != outcomes[1] {
			t.Errorf("%d attempts: before %s, after %s", attempts, outcomes[0], outcomes[1])
		}
	}
}

// play is the n-th run of the script. The run numbered attempts ends without an error.
func play(attempts int, n *int, line func(string) bool) error {
	run := script[*n]
	*n++
	for _, s := range run {
		if !line(s) {
			return nil
		}
	}
	if *n == attempts {
		return nil
	}
	return errBusy
}

// TestObservablesDoTheSame compares the items of an rxgo observable.
func TestObservablesDoTheSame(t *testing.T) {
	decode := func(_ context.Context, v any) (any, error) { return strings.ToUpper(v.(string)), nil }
	for _, attempts := range []int{1, 3, 6, 7} { // the seventh is one too many
		var outcomes [2]string
		for i, feed := range []func(context.Context, rxgo.Producer, rxgo.Func) rxgo.Observable{rxgobefore.Feed, rxgoafter.Feed} {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				read := func(_ context.Context, next chan<- rxgo.Item) {
					err := play(attempts, &n, func(s string) bool { next <- rxgo.Of(s); return true })
					if err != nil {
						next <- rxgo.Error(err)
					}
				}
				var items []string
				for item := range feed(t.Context(), read, decode).Observe() {
					if item.Error() {
						items = append(items, fmt.Sprint(errors.Is(item.E, errBusy)))
					} else {
						items = append(items, item.V.(string))
					}
				}
				outcomes[i] = fmt.Sprint(items, n)
			})
		}
		if outcomes[0] != outcomes[1] || !slices.Contains([]string{"[A B] 1", "[A B] 3", "[A B C D] 6", "[A B C D true] 6"}, outcomes[0]) {
			t.Errorf("%d attempts: before %s, after %s", attempts, outcomes[0], outcomes[1])
		}
	}
}
