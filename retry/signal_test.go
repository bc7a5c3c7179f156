package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
)

func TestSignal_KeepsNoWaitThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSignal()
		p := New(backoff.Constant(time.Second), ResetOn(s), Limit(3))
		_ = Run(t.Context(), p, func(context.Context) error { return errors.New("boom") })
		if len(s.waiters) != 0 {
			t.Errorf("%d waits are kept", len(s.waiters))
		}
	})
}
