package handoff_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/handoff"
)

func TestOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		f    func()
		want any
	}{
		"of a return":                           {func() {}, nil},
		"of a panic":                            {func() { panic(errBoom) }, errBoom},
		"of a panic that was carried over once": {func() { panic(&handoff.Panic{Value: errBoom, Stack: []byte("first")}) }, errBoom},
	} {
		bubble(t, name, func(t *testing.T) {
			var o handoff.Outcome
			done := make(chan struct{})
			go func() {
				defer close(done)
				o.Of(c.f)
			}()
			<-done
			v := recovered(o.Raise)
			if p, ok := v.(*handoff.Panic); ok {
				v = p.Value
			}
			if v != c.want {
				t.Errorf("raised %v, want %v", v, c.want)
			}
		})
	}
}
