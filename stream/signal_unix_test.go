//go:build unix

package stream_test

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

// The context of signal.NotifyContext, as a channel that ends the stream well and as the subscriber's context.
func TestHowToStop_NotifyContext(t *testing.T) {
	for name, want := range map[string]error{"TakeUntilDone": nil, "as the subscriber's context": context.Canceled} {
		t.Run(name, func(t *testing.T) {
			stop, release := signal.NotifyContext(t.Context(), syscall.SIGHUP)
			defer release()
			s, ctx := stream.Of(1).Concat(stream.Never[int]()), stop
			if want == nil {
				s, ctx = s.TakeUntilDone(stop.Done()), t.Context()
			}
			err := s.ForEach(ctx, func(int) {
				if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
					t.Fatal(err)
				}
			})
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
}
