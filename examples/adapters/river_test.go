package adapters

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/retrywhen/retrywhen/backoff"
)

// riverPolicy adapts a Backoff to River. River calls NextRetry before it adds the latest error to job.Errors, so there
// is one failure more than these.
type riverPolicy struct{ backoff.Backoff }

func (p riverPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().UTC().Add(p.Delay(len(job.Errors) + 1))
}

// riverTiled spreads the retries of jobs that fail together evenly over time. A job's place depends on its id, and is
// the same for all its retries.
type riverTiled struct{ backoff.Backoff }

func (p riverTiled) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().UTC().Add(p.Keyed(uint64(job.ID)).Delay(len(job.Errors) + 1))
}

func Example_river() {
	config := river.Config{
		RetryPolicy: riverPolicy{backoff.Quadratic(time.Minute).Cap(24 * time.Hour)},
	}
	job := &rivertype.JobRow{ID: 1, Errors: make([]rivertype.AttemptError, 3)}
	fmt.Println(time.Until(config.RetryPolicy.NextRetry(job)).Round(time.Minute))

	config.RetryPolicy = riverTiled{backoff.Linear(time.Hour).Tiled()}
	first, second := config.RetryPolicy.NextRetry(job), config.RetryPolicy.NextRetry(job)
	fmt.Println(second.Sub(first) < time.Minute, time.Until(first) < 4*time.Hour)
	// Output:
	// 16m0s
	// true true
}

func TestRiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := riverPolicy{backoff.Quadratic(time.Second)}
		for errors, want := range []time.Duration{time.Second, 4 * time.Second, 9 * time.Second} {
			job := &rivertype.JobRow{Errors: make([]rivertype.AttemptError, errors)}
			if got := time.Until(p.NextRetry(job)); got != want {
				t.Errorf("after %d errors and one: %v, want %v", errors, got, want)
			}
		}
	})
}
