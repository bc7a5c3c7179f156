package backoff

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
)

var zz time.Duration
var zb = Exponential(100*time.Millisecond, 2).Cap(30 * time.Second).Jitter(jitter.Full)

func BenchmarkZ(b *testing.B) {
	b.Run("draw", func(b *testing.B) {
		for b.Loop() {
			zz = time.Duration(rand.Float64() * 1e9)
		}
	})
	b.Run("delay", func(b *testing.B) {
		x := zb
		n := 0
		for b.Loop() {
			n++
			zz = x.Delay(n&7 + 1)
		}
	})
	b.Run("at-pointer", func(b *testing.B) {
		x := &zb
		n := 0
		for b.Loop() {
			n++
			zz = x.at(n&7+1, 0.3)
		}
	})
	b.Run("At", func(b *testing.B) {
		x := zb
		n := 0
		for b.Loop() {
			n++
			zz = x.At(n&7+1, 0.3)
		}
	})
	b.Run("curve", func(b *testing.B) {
		x := &zb
		n := 0
		for b.Loop() {
			n++
			zz = x.curve(n&7 + 1)
		}
	})
	b.Run("finish", func(b *testing.B) {
		x := &zb
		for b.Loop() {
			zz = x.finish(1e9, 0.3)
		}
	})
	b.Run("factor", func(b *testing.B) {
		x := &zb
		for b.Loop() {
			zz = time.Duration(x.factor(0.3))
		}
	})
}
