// Package shared measures what it costs a call to get a value that many callers share, and that is healthy.
package shared

import (
	"context"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

const token = 7

// holders return a function that makes one call with the value.
var holders = []struct {
	name string
	make func(call func(context.Context, int) error) func(context.Context) error
}{
	{"mutex", func(call func(context.Context, int) error) func(context.Context) error {
		var mu sync.Mutex
		value := token
		return func(ctx context.Context) error {
			mu.Lock()
			v := value
			mu.Unlock()
			return call(ctx, v)
		}
	}},
	{"singleflight", func(call func(context.Context, int) error) func(context.Context) error {
		var group singleflight.Group
		return func(ctx context.Context) error {
			v, err, _ := group.Do("token", func() (any, error) { return token, nil })
			if err != nil {
				return err
			}
			return call(ctx, v.(int))
		}
	}},
	{"retrywhen", func(call func(context.Context, int) error) func(context.Context) error {
		s := newShared()
		return func(ctx context.Context) error { return s.Do(ctx, call) }
	}},
	{"retrywhen-RenewAt", func(call func(context.Context, int) error) func(context.Context) error {
		s := newShared().RenewAt(func(int) time.Time { return time.Now().Add(24 * time.Hour) })
		return func(ctx context.Context) error { return s.Do(ctx, call) }
	}},
}

func newShared() *retry.Shared[int] {
	return retry.NewShared(retry.New(backoff.Constant(time.Second)), func(context.Context) (int, error) { return token, nil })
}

func use(_ context.Context, v int) error {
	if v != token {
		return context.Canceled
	}
	return nil
}

func BenchmarkShared(b *testing.B) {
	for _, h := range holders {
		b.Run(h.name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			do := h.make(use)
			b.ReportAllocs()
			for b.Loop() {
				if err := do(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSharedParallel(b *testing.B) {
	for _, h := range holders {
		b.Run(h.name, func(b *testing.B) {
			do := h.make(use)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				for pb.Next() {
					if err := do(ctx); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
