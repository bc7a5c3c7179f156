package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func BenchmarkDo(b *testing.B) {
	p := retry.New(backoff.Exponential(time.Second, 2).Jitter(jitter.Full), retry.Limit(5))
	b.Run("first try", func(b *testing.B) {
		b.ReportAllocs()
		ctx := context.Background()
		f := func(context.Context) (int, error) { return 1, nil }
		for b.Loop() {
			if _, err := retry.Do(ctx, p, f); err != nil {
				b.Fatal(err)
			}
		}
	})
	boom := errors.New("boom")
	atOnce := retry.New(backoff.Backoff{}, retry.Limit(20))
	n := 0
	flaky := func(context.Context) (int, error) {
		if n++; n%11 != 0 {
			return 0, boom
		}
		return 1, nil
	}
	b.Run("ten failures", func(b *testing.B) {
		b.ReportAllocs()
		ctx := context.Background()
		for b.Loop() {
			if _, err := retry.Do(ctx, atOnce, flaky); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ten failures, plain loop", func(b *testing.B) {
		ctx := context.Background()
		for b.Loop() {
			for range 20 {
				if _, err := flaky(ctx); err == nil {
					break
				}
			}
		}
	})
}

// BenchmarkStream is a subscription that ends at once, and one failure of a long one with the attempt after it.
func BenchmarkStream(b *testing.B) {
	boom := errors.New("boom")
	plain := retry.New(backoff.Backoff{})
	hooked := plain.With(
		retry.OnRetry(func(context.Context, retry.Event) {}), retry.OnRecovered(func(context.Context, retry.Recovery) {}),
		retry.OnDone(func(context.Context, retry.Result) {}), retry.WithBudget(retry.NewBudget(1e9, 1, 1)))
	for name, p := range map[string]retry.Policy{"plain": plain, "hooks": hooked} {
		b.Run("at once/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := stream.Empty[int]().RetryWhen(p).ForEach(context.Background(), func(int) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("resubscription/"+name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			source := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
				if n++; n > b.N {
					return nil
				}
				if n%2 == 0 {
					yield(n)
				}
				return boom
			})
			if err := source.RetryWhen(p).ForEach(context.Background(), func(int) {}); err != nil {
				b.Fatal(err)
			}
		})
		b.Run("one failure/"+name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			source := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
				if n++; n%2 == 1 {
					return boom
				}
				return nil
			})
			for b.Loop() {
				if err := source.RetryWhen(p).ForEach(context.Background(), func(int) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
