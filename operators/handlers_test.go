package operators_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// pointed is a handler as a nil pointer too.
type pointed struct{}

func (*pointed) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	return failures
}

// A nil pointer that is a handler as it is may be used.
func TestHandlers_ANilPointerThatIsOne(t *testing.T) {
	if err := stream.Of(1).RetryWhen((*pointed)(nil)).ForEach(t.Context(), func(int) {}); err != nil {
		t.Error(err)
	}
}

// A bookmark ends the outage of each retried stream around, as stream.Works does.
func TestResumeMarked_ABookmarkEndsTheOutagesAround(t *testing.T) {
	var mu sync.Mutex
	var notes []string
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, text)
	}
	policy := func(name string) retry.Policy {
		return retry.New(retry.Default.Backoff(), retry.OnRecovered(func(context.Context, retry.Recovery) { note(name) }))
	}
	synctest.Test(t, func(t *testing.T) {
		opened, run := 0, 0
		inner := operators.ResumeMarked(0, func(int) marks {
			if opened++; opened == 2 {
				return broken()
			}
			return stream.Of(bookmark(1)).Concat(stream.Of(at(2)).Delay(time.Hour))
		}, policy("inner"))
		outer := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
			if run++; run == 1 {
				return errBoom
			}
			if opened = 1; run == 2 {
				time.AfterFunc(time.Minute, func() { note("a minute later") })
			}
			return inner(ctx, yield)
		})
		err := outer.RetryWhen(policy("outer")).RetryWhen(policy("around it")).ForEach(t.Context(), func(v int) { note(fmt.Sprint(v)) })
		if got, want := fmt.Sprint(notes), "[inner outer a minute later 2]"; err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	})
}

// A signal that is merged with the answers to the failures: if an answer bears its failure's number, each attempt but
// those of the signal has waited. Of answers without it, the second may be taken for one to the next failure.
func TestRetryWhen_AnswersThatRace(t *testing.T) {
	const delay = time.Second
	for name, c := range map[string]struct {
		answer func(f stream.Failure) stream.Stream[stream.Failure]
		early  bool
	}{
		"with the number":    {func(f stream.Failure) stream.Stream[stream.Failure] { return stream.Of(f).Delay(delay) }, false},
		"without the number": {func(stream.Failure) stream.Stream[stream.Failure] { return stream.Of(stream.Failure{}).Delay(delay) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			early := 0
			for range 500 {
				synctest.Test(t, func(t *testing.T) {
					var failed time.Time
					run := 0
					src := stream.Stream[int](func(context.Context, func(int) bool) error {
						if run++; run == 3 && time.Since(failed) < delay {
							early++
						}
						if failed = time.Now(); run == 3 {
							return nil
						}
						return errBoom
					})
					_ = src.RetryWhen(stream.RetryHandlerFunc(func(all stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
						signal := stream.Of(stream.Failure{N: 1}).Delay(delay) // at the end of the first wait
						return operators.SwitchMap(all, c.answer).Merge(signal)
					})).ForEach(t.Context(), func(int) {})
				})
			}
			if (early > 0) != c.early {
				t.Errorf("%d of 500 attempts began before their wait was over", early)
			}
		})
	}
}
