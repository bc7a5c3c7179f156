package stream_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/retrywhen/retrywhen/stream"
)

// weighty is an error that can be watched for being let go of.
type weighty struct{ _ [64]byte }

func (*weighty) Error() string { return "weighty" }

// A handler that runs the failures anew for each answer: runs that are over keep no failure.
func TestRetryWhen_RunsThatAreOverKeepNoFailures(t *testing.T) {
	const n = 100
	var kept []weak.Pointer[weighty]
	runs := 0
	src := stream.FromFunc(func(context.Context) (int, error) {
		if runs++; runs > n {
			runtime.GC()
			alive := 0
			for _, p := range kept {
				if p.Value() != nil {
					alive++
				}
			}
			if alive > 3 {
				t.Errorf("%d of %d failures are kept", alive, n)
			}
			return 1, nil
		}
		e := new(weighty)
		kept = append(kept, weak.Make(e))
		return 0, e
	})
	oneByOne := handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		return failures.Take(1).Repeat(n + 1)
	})
	if _, err := src.RetryWhen(oneByOne).Collect(t.Context()); err != nil {
		t.Error(err)
	}
}

// Failures that a handler runs on a goroutine of its own end with the subscription, though nobody cancels them.
func TestRetryWhen_FailuresEndWithTheSubscription(t *testing.T) {
	for name, source := range map[string]func() stream.Stream[int]{
		"a good end": func() stream.Stream[int] { return scripted(failing(numbered(1)), stream.Of(1)).stream() },
		"a permanent failure": func() stream.Stream[int] {
			return scripted(failing(numbered(1)), failing(stream.Permanent(numbered(2)))).stream()
		},
		"the handler ends": func() stream.Stream[int] { return failing(numbered(1)) },
	} {
		bubble(t, name, func(t *testing.T) {
			ended := make(chan error, 1)
			answers := 1
			_, _ = source().RetryWhen(handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
				seen := make(chan stream.Failure)
				go func() {
					ended <- failures(context.Background(), func(f stream.Failure) bool {
						seen <- f
						return true
					})
				}()
				return stream.FromFunc(func(context.Context) (stream.Failure, error) { return <-seen, nil }).Repeat(answers)
			})).Collect(t.Context())
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A run that does not come back holds nobody up.
func TestRetryWhen_ALaggingRunHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var lagged []int
		over := make(chan struct{})
		runs := 0
		src := stream.FromFunc(func(context.Context) (int, error) {
			if runs++; runs <= 10 {
				return 0, numbered(runs)
			}
			return 1, nil
		})
		_, err := src.RetryWhen(handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			go func() {
				defer close(over)
				_ = failures(context.Background(), func(f stream.Failure) bool {
					if f.N == 2 {
						time.Sleep(time.Second) // it waited once, so that it can be roused
						<-release
					}
					lagged = append(lagged, f.N)
					return true
				})
			}()
			return failures.Tap(func(stream.Failure) { synctest.Wait() })
		})).Collect(t.Context())
		if err != nil || runs != 11 {
			t.Errorf("%d runs, %v", runs, err)
		}
		close(release)
		<-over
		if want := []int{1, 2}; !slices.Equal(lagged, want) {
			t.Errorf("the lagging run got %v, want %v and then the end", lagged, want)
		}
	})
}
