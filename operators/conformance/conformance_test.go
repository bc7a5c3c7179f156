// Package conformance tests how the library agrees with ReactiveX, and where it differs. There is one named test for
// each behaviour of resubscription, with marble diagrams where they fit. Each comment names the behaviour in the terms
// of ReactiveX, and says whether RxJava 3, RxJS 7 and Reactor 3 do the same.
//
// The catalogue (catalogue_test.go) checks every operator with streamtest.Check, and draws docs/operators.md. So do the
// variants (variants_test.go), which are not drawn. The tests of contract_test.go check the rest of the contract for
// all of them.
package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestMain(m *testing.M) { check.Main(m) }

const ms = time.Millisecond

var (
	errBoom  = errors.New("boom")
	errCause = errors.New("the cause of the cancellation")
	bubble   = check.Bubble
)

type (
	session  = streamtest.Session
	text     = stream.Stream[string]
	failures = stream.Stream[stream.Failure]
	handler  = stream.RetryHandlerFunc
)

// again answers each failure after d.
func again(d time.Duration) handler {
	return func(f failures) failures { return f.Delay(d) }
}

// constant is the policy that answers each failure after d, as long as opts let it.
func constant(d time.Duration, opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Constant(d), opts...)
}

// wait waits for d on the clock of ctx, like code that takes time.
func wait(ctx context.Context, d time.Duration) {
	_, _ = stream.Timer(d).Collect(ctx)
}

// journal records events with their times.
type journal struct {
	s       *session
	entries []string
}

func (j *journal) note(format string, args ...any) {
	j.entries = append(j.entries, fmt.Sprintf("%v ", j.s.Elapsed())+fmt.Sprintf(format, args...))
}

func (j *journal) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(j.entries, want) {
		t.Errorf("what happened:\n%q\nwant\n%q", j.entries, want)
	}
}

// attempts is a stream that runs the n-th of the given streams as its n-th attempt, the last one for all others.
func attempts[T any](all ...stream.Stream[T]) stream.Stream[T] {
	n := 0
	return stream.Defer(func(context.Context) stream.Stream[T] {
		n++
		return all[min(n, len(all))-1]
	})
}

// Each behaviour is compared with the other libraries of ReactiveX.
func TestEachBehaviourIsCompared(t *testing.T) {
	names, err := filepath.Glob("*_test.go")
	check.Must(t, err)
	compared := 0
	for _, name := range names {
		switch name {
		case "conformance_test.go", "arguments_test.go", "catalogue_test.go", "contract_test.go", "variants_test.go", "document_test.go", "lookup_test.go":
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		check.Must(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			compared++
			for _, library := range []string{"RxJava", "RxJS", "Reactor"} {
				if !strings.Contains(f.Doc.Text(), library) {
					t.Errorf("%s: the comment of %s does not mention %s", name, f.Name.Name, library)
				}
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d behaviours", compared)
	}
}
