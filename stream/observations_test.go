package stream_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/retrywhen/retrywhen/stream"
)

// What a handler that observes is told, and when.
func TestObservations(t *testing.T) {
	observe := func(src stream.Stream[int], ctx context.Context, use func(context.Context, stream.Stream[int]) error) []string {
		o := &observed{RetryHandler: handler(func(f stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			return f.Take(3).Delay(time.Second)
		})}
		_ = use(ctx, src.RetryWhen(o).Tap(func(v int) { o.notes = append(o.notes, "value") }))
		return o.notes
	}
	all := func(ctx context.Context, s stream.Stream[int]) error { return s.ForEach(ctx, func(int) {}) }
	type ints = stream.Stream[int]
	for name, c := range map[string]struct {
		runs []ints
		use  func(context.Context, ints) error
		want []string
	}{
		"a good end": {[]ints{stream.Of(1)}, all, []string{"value", "once", "ended after 1: <nil>"}},
		"a value after failures": {
			[]ints{failing(numbered(1)), failing(numbered(2)), stream.Of(1, 2)}, all,
			[]string{"failure 1 is number 1", "failure 2 is number 2", "works", "value", "value", "ended after 3: <nil>"},
		},
		"no value after a failure": {[]ints{failing(numbered(1)), stream.Empty[int]()}, all, []string{"failure 1 is number 1", "ended after 2: <nil>"}},
		"values before failures": {
			[]ints{failing(numbered(1), 1), failing(numbered(2), 2), stream.Empty[int]()}, all,
			[]string{"value", "failure 1 is number 1", "works", "value", "failure 2 is number 2", "ended after 3: <nil>"},
		},
		"no end of it": {
			[]ints{failing(numbered(1))}, all,
			[]string{"failure 1 is number 1", "failure 1 is number 2", "failure 1 is number 3", "failure 1 is number 4", "ended after 4: failure 1"},
		},
		"a permanent failure": {
			[]ints{failing(numbered(1)), failing(stream.Permanent(numbered(2)))}, all,
			[]string{"failure 1 is number 1", "ended after 2: failure 2"},
		},
		"a consumer that stops": {
			[]ints{failing(numbered(1)), stream.Of(1, 2)},
			func(ctx context.Context, s ints) error { return s.Take(1).ForEach(ctx, func(int) {}) },
			[]string{"failure 1 is number 1", "works", "value", "ended after 2: <nil>"},
		},
		"a panic": {
			[]ints{failing(numbered(1)), stream.Of(1)},
			func(ctx context.Context, s ints) (err error) {
				defer func() { recover() }()
				return s.ForEach(ctx, func(int) { panic("consumer") })
			},
			[]string{"failure 1 is number 1", "works", "value", "aborted"},
		},
		"cancelled in a wait": {
			[]ints{failing(numbered(1))},
			func(ctx context.Context, s ints) error {
				ctx, cancel := context.WithTimeoutCause(ctx, time.Second/2, errors.New("late"))
				defer cancel()
				return s.ForEach(ctx, func(int) {})
			},
			[]string{"failure 1 is number 1", "ended after 1: late: after the failure: failure 1"},
		},
		"a good end once cancelled": {
			[]ints{failing(numbered(1)), func(ctx context.Context, _ func(int) bool) error { <-ctx.Done(); return nil }},
			func(ctx context.Context, s ints) error {
				ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
				return s.ForEach(ctx, func(int) {})
			},
			[]string{"failure 1 is number 1", "ended after 2: <nil>"},
		},
	} {
		bubble(t, name, func(t *testing.T) {
			if got := observe(scripted(c.runs...).stream(), t.Context(), c.use); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestAttemptFrom_IsTheAttemptOfTheInnermostRetry(t *testing.T) {
	var got []int
	note := stream.FromFunc(func(ctx context.Context) (int, error) {
		got = append(got, stream.AttemptFrom(ctx))
		ctx.Done() // makes a context of the lazy one
		got = append(got, stream.AttemptFrom(ctx))
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		got = append(got, stream.AttemptFrom(child))
		return 0, numbered(1)
	})
	_, _ = note.Retry(1).Retry(1).Collect(t.Context())
	if want := []int{1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

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
				seen := make(chan stream.Failure, 1) // nobody asks for the last one
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
