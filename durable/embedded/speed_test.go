package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/retry"
)

// TestDeathsAreFast measures, best of three in one run on files: how fast jobs with ids are done, how fast they become
// dead letters, how fast all are revived, and how long a Put takes beside deaths. A death and a revival are one
// publication each: both have about a third of the speed of a job that is done, or more. Nightly also checks bounds, which
// leave room for a busy machine.
func TestDeathsAreFast(t *testing.T) {
	n := 600
	if nightly() {
		n = 6_000
	}
	var done, died, revived float64
	for i := range 3 {
		d, x, r := deathSpeeds(t, fmt.Sprint("q", i), n)
		done, died, revived = max(done, d), max(died, x), max(revived, r)
	}
	t.Logf("a second: %.0f done, %.0f dead (%.2f), %.0f revived (%.2f)", done, died, died/done, revived, revived/done)
	if nightly() && (died < done/4 || revived < done/4) {
		t.Errorf("a second: %.0f done, %.0f dead, %.0f revived, want at least a fourth", done, died, revived)
	}

	best := time.Hour
	for i := range 3 {
		best = min(best, putBesideDeaths(t, fmt.Sprint("p", i)))
	}
	t.Logf("a Put beside 300 deaths: p99 %v", best)
	if nightly() && best > 20*time.Millisecond {
		t.Errorf("a Put beside 300 deaths: p99 %v, want at most 20ms", best)
	}
}

// deathSpeeds returns how many jobs are done, die and are revived per second, each put before.
func deathSpeeds(t *testing.T, name string, n int) (done, died, revived float64) {
	srv := start(t)
	q := open(t, srv, durable.Config{Name: name, Policy: retry.New(backoff.Backoff{}, retry.Limit(0))})
	fill := func(prefix string) {
		inParallel(n, func(i int) { put(t, q, "", durable.PutID(prefix+strconv.Itoa(i))) })
	}
	speed := func(handler func(context.Context, *durable.Job) error, ended func() int64) float64 {
		goal := ended() + int64(n)
		began := time.Now()
		stop := work(t, q, 16, handler)
		eventually(t, "all have ended", func() bool { return ended() == goal })
		took := time.Since(began)
		stop()
		return float64(n) / took.Seconds()
	}
	fill("done")
	done = speed(func(context.Context, *durable.Job) error { return nil }, func() int64 { return q.Counts().Done })
	fill("dies")
	died = speed(func(context.Context, *durable.Job) error { return errors.New("no") }, func() int64 { return q.Counts().Died })
	began := time.Now()
	if got, err := q.ReviveAll(t.Context(), nil); got != n || err != nil {
		t.Fatalf("revived %d, %v, want %d", got, err, n)
	}
	return done, died, float64(n) / time.Since(began).Seconds()
}

// putBesideDeaths returns the 99th percentile of Put's duration while 300 jobs die.
func putBesideDeaths(t *testing.T, name string) time.Duration {
	q := open(t, start(t), durable.Config{Name: name, Policy: retry.New(backoff.Backoff{}, retry.Limit(0))})
	for i := range 300 {
		put(t, q, "dies", durable.PutID(strconv.Itoa(i)))
	}
	var dying atomic.Bool
	dying.Store(true)
	var took []time.Duration
	var putting sync.WaitGroup
	putting.Go(func() {
		for i := 0; dying.Load() || len(took) < 100; i++ {
			began := time.Now()
			if _, err := q.PutAt(t.Context(), time.Now().Add(time.Hour), nil, durable.PutID("beside"+strconv.Itoa(i))); err != nil {
				t.Error(err)
				return
			}
			took = append(took, time.Since(began))
		}
	})
	work(t, q, 16, func(context.Context, *durable.Job) error { return errors.New("no") })
	eventually(t, "all are dead", func() bool { return q.Counts().Died == 300 })
	dying.Store(false)
	putting.Wait()
	slices.Sort(took)
	return took[len(took)*99/100]
}
