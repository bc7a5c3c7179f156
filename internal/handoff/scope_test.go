package handoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// The run waits for the functions that the end of its context has called.
func TestScope_OnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		returned := false
		err := Stream(func(scope *Scope, _ *ending.Consumer[int]) error {
			scope.OnEnd(func(closed <-chan struct{}) {
				<-closed
				time.Sleep(time.Second)
				returned = true
			})
			cancel()
			synctest.Wait()
			return nil
		})(ctx, nil)
		if err != context.Canceled || !returned {
			t.Errorf("got %v, and what was called has returned: %v", err, returned)
		}
	})
}
