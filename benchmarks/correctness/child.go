package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	policy "github.com/retrywhen/retrywhen/retry"
	rw "github.com/retrywhen/retrywhen/stream"

	backoff4 "github.com/cenkalti/backoff/v4"
	ciliumstream "github.com/cilium/stream"
	"github.com/reactivex/rxgo/v2"
	"github.com/samber/ro"
)

// childVariable is the environment variable with which the program answers one question in a process of its own,
// because the answer may be a crash.
const childVariable = "RETRYWHEN_CORRECTNESS_CHILD"

// midAttempt lists streams that are cancelled during an attempt. The attempt lasts until its context ends, and fails
// with the cause.
var midAttempt = []struct {
	name, module string
	run          func(ctx context.Context) error
	at           []place
}{
	{"retrywhen `RetryWhen`", retrywhenModule, func(ctx context.Context) error {
		source := rw.FromFunc(func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		return source.RetryWhen(policy.Default).ForEach(ctx, func(int) {})
	}, nil},
	{"samber/ro", roModule, func(ctx context.Context) error {
		source := ro.NewObservableWithContext(func(ctx context.Context, destination ro.Observer[int]) ro.Teardown {
			<-ctx.Done()
			destination.ErrorWithContext(ctx, ctx.Err())
			return nil
		})
		_, _, err := ro.CollectWithContext(ctx, ro.RetryWithConfig[int](ro.RetryConfig{MaxRetries: retries})(source))
		return err
	}, nil},
	{"cilium/stream", ciliumModule, func(ctx context.Context) error {
		_, err := ciliumstream.ToSlice(ctx, ciliumstream.Retry(ciliumstream.Stuck[int](), ciliumstream.LimitRetries(notCancelled, retries)))
		return err
	}, nil},
	{"rxgo `BackOffRetry`", rxgoModule, func(ctx context.Context) error {
		source := rxgo.Defer([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
			<-ctx.Done()
			time.Sleep(time.Millisecond) // so that BackOffRetry does not see the error and the end of the context at once
			next <- rxgo.Error(ctx.Err())
		}}, rxgo.WithContext(ctx))
		b := backoff4.WithContext(backoff4.WithMaxRetries(backoff4.NewConstantBackOff(pause), retries), ctx)
		for item := range source.BackOffRetry(b, rxgo.WithContext(ctx)).Observe() {
			if item.Error() {
				return item.E
			}
		}
		return nil
	}, []place{at("observable_operator.go", "close(next)\n\t\t\t\treturn nil")}},
}

// child cancels the named library's attempt after 3 s, prints the result, and exits.
func child(t *testing.T, name string) {
	for _, m := range midAttempt {
		if m.name != name {
			continue
		}
		synctest.Test(t, func(*testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			began := time.Now()
			time.AfterFunc(3*time.Second, cancel)
			err := m.run(ctx)
			elapsed := time.Since(began) - 3*time.Second
			time.Sleep(time.Minute) // a crash may come later
			switch {
			case err == nil:
				fmt.Println("returns **nil**")
			case errors.Is(err, context.Canceled):
				fmt.Printf("returns %s, with `context.Canceled`\n", after(elapsed))
			default:
				fmt.Printf("returns %s, with %v\n", after(elapsed), err)
			}
			os.Exit(0)
		})
	}
}

// midAttemptAnswer runs child in another process and returns what it printed.
func midAttemptAnswer(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(out)), nil
	}
	for lines := bufio.NewScanner(&errs); lines.Scan(); {
		if what, ok := strings.CutPrefix(lines.Text(), "panic: "); ok {
			what, _, _ = strings.Cut(what, " [")
			return "**the process panics**: " + what, nil
		}
	}
	return "", fmt.Errorf("%s: %w\n%s%s", name, err, out, errs.String())
}
