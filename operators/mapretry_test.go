package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// flaky is an f that fails for an item as often as it says, and notes when it is called: "2@40ms" is item 2 after 40 ms.
type flaky struct {
	failures map[int]int
	start    time.Time

	mu    sync.Mutex
	tries map[int]int
	calls []string
}

func newFlaky(failures map[int]int) *flaky {
	return &flaky{failures: failures, start: time.Now(), tries: map[int]int{}}
}

func (f *flaky) call(_ context.Context, i int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("%d@%v", i, time.Since(f.start)))
	f.tries[i]++
	if f.tries[i] <= f.failures[i] {
		return 0, fmt.Errorf("item %d: %w", i, errBoom)
	}
	return 10 * i, nil
}

func (f *flaky) expect(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(f.calls, " "); got != want {
		t.Errorf("calls\n got %s\nwant %s", got, want)
	}
}

// ledger notes what becomes of items.
type ledger struct {
	dead, left []string
	lastDead   *retry.Error
}

func (l *ledger) deadLetter(_ context.Context, i int, err *retry.Error) error {
	l.dead = append(l.dead, fmt.Sprintf("%d/%d", i, err.Attempts))
	l.lastDead = err
	return nil
}

func (l *ledger) abandon(i, attempts int) { l.left = append(l.left, fmt.Sprintf("%d/%d", i, attempts)) }

func (l *ledger) expect(t *testing.T, dead, left string) {
	t.Helper()
	slices.Sort(l.left)
	if got := strings.Join(l.dead, " "); got != dead {
		t.Errorf("dead letters %q, want %q", got, dead)
	}
	if got := strings.Join(l.left, " "); got != left {
		t.Errorf("abandoned %q, want %q", got, left)
	}
}

func constant(d time.Duration, opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Constant(d), opts...)
}

func TestMapRetry_ItemsAreRetriedWhileOthersGoOn(t *testing.T) {
	bubble(t, "one worker", func(t *testing.T) {
		f := newFlaky(map[int]int{1: 2, 3: 1})
		p := retry.New(backoff.Linear(20 * ms))
		s := operators.MapRetry(stream.Of(1, 2, 3, 4), p, f.call, operators.MapRetryOptions[int]{Workers: 1})
		expect(t, s, "0 20 0 40 20 30 60 10 60|"[0:0]+"0 20 0 40 20 30 60 10 60|")
	})
}
