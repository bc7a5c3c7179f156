// Rxgo retries an rxgo observable with a policy of this library, as it would retry a stream.
//
//	go run ./examples/rxgo
//
// rxgo's own BackOffRetry waits on the system's clock and crashes when it is cancelled.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/examples/internal/program"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/retry"
)

func main() { program.Main("rxgo", os.Args[1:], run) }

func run(ctx context.Context, out io.Writer) error {
	policy := operators.ExpBackoff(jitter.Default, 20*time.Millisecond, 3)

	// A cold observable, chained with rxgo's methods. Wrap comes last, because these methods return plain Observables.
	readings := rxgo.Defer([]rxgo.Producer{sensor()}).
		Map(func(_ context.Context, v any) (any, error) { return v.(int) * 10, nil })
	var retries []string // written on a goroutine of the observable; read when that has ended
	noting := policy.With(retry.OnRetry(func(_ context.Context, e retry.Event) { retries = append(retries, e.Err.Error()) }))
	fmt.Fprintln(out, "wrapped:")
	if err := print(out, rx.Wrap(readings).RetryWhen(noting).Observe(rxgo.WithContext(ctx))); err != nil {
		return err
	}
	fmt.Fprintf(out, "  %d retries: %q\n", len(retries), retries)

	// A hot observable cannot run twice, so each attempt creates its own. This is also the only way to cancel a producer.
	attempt := sensor()
	fmt.Fprintln(out, "created for each attempt:")
	retried := rx.RetryWhen(func(ctx context.Context) rxgo.Observable {
		return rxgo.Create([]rxgo.Producer{attempt}, rxgo.WithContext(ctx))
	}, policy)
	return print(out, retried.Observe(rxgo.WithContext(ctx)))
}

// print prints what an observable emits, and returns its error.
func print(out io.Writer, items <-chan rxgo.Item) error {
	for item := range items {
		if item.E != nil {
			return item.E
		}
		fmt.Fprintln(out, " ", item.V)
	}
	return nil
}

var errUnplugged = errors.New("the sensor is unplugged")

// sensor returns a producer that fails twice, after one value and after two, and then delivers all values.
func sensor() rxgo.Producer {
	attempt := 0
	return func(ctx context.Context, next chan<- rxgo.Item) {
		attempt++
		send := func(item rxgo.Item) bool {
			select {
			case next <- item:
				return true
			case <-ctx.Done():
				return false
			}
		}
		for i := 1; i <= 4; i++ {
			if attempt < 3 && i > attempt {
				send(rxgo.Error(errUnplugged))
				return
			}
			if !send(rxgo.Of(i)) {
				return
			}
		}
	}
}
