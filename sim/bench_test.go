package sim

import (
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// One run of 100 clients. The target is at least 3 M attempts/s on one core.
func BenchmarkOCC(b *testing.B) {
	for _, s := range classics() {
		b.Run(s.Name, func(b *testing.B) {
			o := OCC{Network: DefaultNetwork, Policy: s.Policy, Clients: 100}
			var calls int64
			for b.Loop() {
				o.Seed++
				calls += mustRun(b, o).Calls
			}
			b.ReportMetric(float64(calls)/b.Elapsed().Seconds()/1e6, "Mattempts/s")
		})
	}
}

// A million jobs with ten retries each, and the load. The target is at most 2 s for a herd with its
// figures.
func BenchmarkHerd(b *testing.B) {
	for _, s := range []Strategy{
		{Name: "sidekiq", Policy: retry.New(backoff.Sidekiq())},
		{Name: "full", Policy: retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Full))},
		{Name: "decorrelated", Policy: retry.New(backoff.Decorrelated(time.Second).Cap(time.Minute))},
		{Name: "tiled", Policy: retry.New(backoff.Linear(time.Second).Tiled())},
		{Name: "ordinal", Policy: retry.New(backoff.Linear(time.Second).Tiled()), Placement: ByOrdinal},
	} {
		b.Run(s.Name, func(b *testing.B) {
			for b.Loop() {
				r := mustRun(b, Herd{Policy: s.Policy, Placement: s.Placement, Jobs: 1_000_000, Retries: 10})
				if _, err := r.Load(time.Second); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWindows(b *testing.B) {
	r := mustRun(b, Herd{Policy: retry.New(backoff.Sidekiq()), Jobs: 1_000_000, Retries: 10})
	for b.Loop() {
		r.window(r.sorted(), time.Second)
	}
}

func BenchmarkOutage(b *testing.B) {
	for name, clients := range map[string]int{"thousand": 1000, "million": 1_000_000} {
		b.Run(name, func(b *testing.B) {
			var attempts int64
			for b.Loop() {
				attempts += runOutage(b, Outage{
					Policy:  retry.New(backoff.Exponential(time.Second, 2).Cap(30 * time.Second).Jitter(jitter.Full)),
					Clients: clients, Down: time.Minute, Capacity: clients / 100,
				}).Attempts
			}
			b.ReportMetric(float64(attempts)/b.Elapsed().Seconds()/1e6, "Mattempts/s")
		})
	}
}

func BenchmarkOpenQuestion(b *testing.B) {
	for b.Loop() {
		if _, err := openQuestion().Run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
