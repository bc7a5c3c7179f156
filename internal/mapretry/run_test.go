package mapretry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/handoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Package operators tests a run. These tests are for what is hard to see from there.

func TestMain(m *testing.M) { check.Main(m) }

var (
	errBoom = errors.New("boom")
	errGone = errors.New("no longer wanted")
)

// journal records the hooks and the dead letters of a run.
type journal []string

func (j *journal) note(format string, args ...any) { *j = append(*j, fmt.Sprintf(format, args...)) }

func (j *journal) policy(opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Constant(time.Second),
		retry.OnRetry(func(_ context.Context, e retry.Event) { j.note("retry %d", e.N) }),
		retry.OnDone(func(_ context.Context, r retry.Result) { j.note("done after %d in %v", r.Attempts, r.Elapsed) }),
	).With(opts...)
}

func (j *journal) deadLetter(_ context.Context, i int, err *retry.Error) error {
	j.note("dead %d: %v, %d of %d in %v, down %v", i, err.Cause, err.Retries, err.Attempts, err.Elapsed, err.Down)
	return nil
}

func (j *journal) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(*j, want) {
		t.Errorf("got\n%q\nwant\n%q", *j, want)
	}
}

// An item is given up when its own context ends: before its first call, during it, during a wait, during a later call,
// and during a wait that a signal has ended.
func TestRun_AnItemWhoseContextEnds(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration // until the context ends
		fire  time.Duration
		want  []string
	}{
		"at once": {0, time.Hour, []string{
			"done after 0 in 0s", "dead 7: no longer wanted, 0 of 0 in 0s, down 0s",
		}},
		"in the first call": {time.Second / 2, time.Hour, []string{
			"done after 1 in 1s", "dead 7: no longer wanted, 0 of 1 in 0s, down 0s",
		}},
		"in a wait": {3 * time.Second / 2, time.Hour, []string{
			"retry 1", "done after 1 in 2s", "dead 7: no longer wanted, 0 of 1 in 1s, down 1s",
		}},
		"in the second call": {5 * time.Second / 2, time.Hour, []string{
			"retry 1", "done after 2 in 3s", "dead 7: no longer wanted, 1 of 2 in 2s, down 2s",
		}},
		"in a wait that a signal ends": {1200 * time.Millisecond, 1400 * time.Millisecond, []string{
			"retry 1", "done after 1 in 1.4s", "dead 7: no longer wanted, 0 of 1 in 400ms, down 0s",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var j journal
				own, end := context.WithCancelCause(t.Context())
				if c.after == 0 {
					end(errGone)
				}
				time.AfterFunc(c.after, func() { end(errGone) })
				signal := retry.NewSignal()
				time.AfterFunc(c.fire, signal.Fire)
				err := Run(t.Context(), stream.Of(7), j.policy(retry.ResetOn(signal)), func(context.Context, int) (int, error) {
					time.Sleep(time.Second)
					return 0, errBoom
				}, Options[int]{
					Workers: 1, MaxPending: 10, DeadLetter: j.deadLetter,
					Context: func(context.Context, int) context.Context { return own },
				}, nil)
				if err != nil {
					t.Error(err)
				}
				j.expect(t, c.want...)
			})
		})
	}
}

// The error of an item that is refused after retries has the time since its first failure.
func TestRun_RefusedAfterARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		calls := 0
		_ = Run(t.Context(), stream.Of(7), j.policy(), func(context.Context, int) (int, error) {
			if calls++; calls == 3 {
				return 0, retry.Permanent(errBoom)
			}
			return 0, errBoom
		}, Options[int]{Workers: 1, MaxPending: 10, DeadLetter: j.deadLetter}, nil)
		j.expect(t, "retry 1", "retry 2", "done after 3 in 2s", "dead 7: not retryable, 2 of 3 in 2s, down 2s")
	})
}

// OnDone is called for items that were called: not for the item that the source holds, nor for items that no worker has
// taken.
func TestRun_OnDoneOfWhatIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second/2, cancel)
		var left []string
		_ = Run(ctx, stream.Range(0, 9), j.policy(), func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Second)
			return 0, errBoom
		}, Options[int]{Workers: 1, MaxPending: 3, OnAbandon: func(i, attempts int) {
			left = append(left, fmt.Sprintf("%d/%d", i, attempts))
		}}, nil)
		slices.Sort(left)
		if want := []string{"0/1", "1/1", "2/0", "3/0"}; !slices.Equal(left, want) {
			t.Errorf("abandoned %v, want %v", left, want)
		}
		j.expect(t, "retry 1", "done after 1 in 1s", "done after 1 in 2s")
	})
}

// Under a context that has ended, nothing runs.
func TestRun_UnderAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	src := stream.Stream[int](func(context.Context, func(int) bool) error {
		t.Error("the source is run")
		return nil
	})
	if err := Run(ctx, src, retry.New(backoff.Backoff{}), func(context.Context, int) (int, error) { return 0, nil },
		Options[int]{Workers: 1, MaxPending: 1}, nil); !errors.Is(err, errGone) {
		t.Error(err)
	}
}

// A panic that was raised again on another goroutine keeps its first stack.
func TestRun_APanicKeepsItsStack(t *testing.T) {
	first := &handoff.Panic{Value: errBoom, Stack: []byte("first")}
	defer func() {
		if v := recover(); v != first {
			t.Errorf("panicked with %v", v)
		}
	}()
	_ = Run(t.Context(), stream.Of(1), retry.New(backoff.Backoff{}), func(context.Context, int) (int, error) { panic(first) },
		Options[int]{Workers: 1, MaxPending: 1}, nil)
}
