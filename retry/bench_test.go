package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
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
	b.Run("ten failures", func(b *testing.B) {
		b.ReportAllocs()
		ctx := context.Background()
		n := 0
		f := func(context.Context) (int, error) {
			if n++; n%11 != 0 {
				return 0, boom
			}
			return 1, nil
		}
		for b.Loop() {
			if _, err := retry.Do(ctx, atOnce, f); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ten failures, plain loop", func(b *testing.B) {
		ctx := context.Background()
		n := 0
		f := func(context.Context) (int, error) {
			if n++; n%11 != 0 {
				return 0, boom
			}
			return 1, nil
		}
		for b.Loop() {
			for range 20 {
				if _, err := f(ctx); err == nil {
					break
				}
			}
		}
	})
}
