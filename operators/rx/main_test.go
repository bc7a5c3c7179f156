package rx_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
)

// TestMain runs a scenario that ends the program instead of the tests, if an environment variable names one.
func TestMain(m *testing.M) {
	if name := os.Getenv(scenarioVariable); name != "" {
		scenarios[name]()
		os.Exit(0)
	}
	check.Main(m)
}

const scenarioVariable = "RX_TEST_SCENARIO"

// inChild runs the scenario in a process of its own. It returns what the process wrote to stderr, and whether the
// scenario ended.
func inChild(t *testing.T, name string) (stderr string, survived bool) {
	t.Helper()
	if scenarios[name] == nil {
		t.Fatalf("there is no scenario %q", name)
	}
	exe, err := os.Executable()
	check.Must(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), scenarioVariable+"="+name, "GORACE=atexit_sleep_ms=0")
	var out bytes.Buffer
	cmd.Stderr = &out
	err = cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return out.String(), err == nil
}

var (
	errBoom  = errors.New("boom")
	errCause = errors.New("the cause of the cancellation")
)

var bubble = check.Bubble

// feed makes sources for a test and records their attempts. An attempt sends 1 to n, then fails. The last one sends 1
// to n and ends without an error.
type feed struct {
	attempts int // in all
	n        int
	stays    bool // a failed attempt stays until its context ends
	rude     bool // it ignores its context

	began atomic.Int64
	alive atomic.Int64
	at    []time.Duration
	start time.Time
}

// produce is one attempt.
func (f *feed) produce(ctx context.Context, next chan<- rxgo.Item) {
	f.alive.Add(1)
	defer f.alive.Add(-1)
	if f.start.IsZero() {
		f.start = time.Now()
	}
	f.at = append(f.at, time.Since(f.start))
	last := int(f.began.Add(1)) == f.attempts
	send := func(i rxgo.Item) bool {
		if f.rude {
			next <- i
			return true
		}
		return i.SendContext(ctx, next)
	}
	for i := range f.n {
		if !send(rxgo.Of(i + 1)) {
			return
		}
	}
	if last || !send(rxgo.Error(errBoom)) {
		return
	}
	if f.stays {
		for i := 0; send(rxgo.Of("after the error")); i++ {
			if f.rude && i == 2 {
				return
			}
		}
	}
}

func (f *feed) create(ctx context.Context) rxgo.Observable {
	return rxgo.Create([]rxgo.Producer{f.produce}, rxgo.WithContext(ctx))
}

func (f *feed) cold(opts ...rxgo.Option) rxgo.Observable {
	return rxgo.Defer([]rxgo.Producer{f.produce}, opts...)
}

// quadratic waits 1, 4, 9 s …
func quadratic(retries int, opts ...retry.Option) retry.Policy {
	return operators.ExpBackoff(jitter.None, time.Second, retries, opts...)
}

// atOnce retries without a delay.
func atOnce(retries int) retry.Policy { return retry.New(backoff.Constant(0), retry.Limit(retries)) }

// received reads to the end and returns the values and the error, which must be the last item.
func received(t *testing.T, items <-chan rxgo.Item) (values []any, err error) {
	t.Helper()
	for item := range items {
		if err != nil {
			t.Errorf("%v came after the error %v", item, err)
		}
		if item.E != nil {
			err = item.E
			continue
		}
		values = append(values, item.V)
	}
	return values, err
}

// expect checks all items.
func expect(t *testing.T, items <-chan rxgo.Item, want []any, end error) {
	t.Helper()
	values, err := received(t, items)
	if !slices.Equal(values, want) || !errors.Is(err, end) {
		t.Errorf("got %v, %v, want %v, %v", values, err, want, end)
	}
}
