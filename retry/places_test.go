package retry

import (
	"context"
	"errors"
	"math"
	"math/big"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
)

func TestPlaces_AreExactAfterManyMillions(t *testing.T) {
	const golden = 0x9E3779B97F4A7C15
	if got, want := float64(golden)/(1<<64), (math.Sqrt(5)-1)/2; got != want {
		t.Fatalf("the step is %v of a turn, want %v", got, want)
	}
	ratio, turn := new(big.Int).SetUint64(golden), new(big.Int).Lsh(big.NewInt(1), 64)
	for _, start := range []uint64{0, 1, 0x123456789ABCDEF0, math.MaxUint64 - golden, math.MaxUint64} {
		for _, k := range []uint64{1, 2, 1_000_000, 1 << 40, math.MaxUint64} {
			s := startingAt(start + (k-1)*golden)
			x := new(big.Int).Mul(new(big.Int).SetUint64(k), ratio)
			x.Add(x, new(big.Int).SetUint64(start)).Mod(x, turn).Rsh(x, 11)
			if got, want := s.next(), float64(x.Int64())/(1<<53); got != want || got >= 1 {
				t.Errorf("number %d from %d is %v, want %v", k, start, got, want)
			}
		}
	}
}

func TestPlaces_EachIsTakenOnce(t *testing.T) {
	const workers, each = 8, 5000
	var wg sync.WaitGroup
	taken := make([][]float64, workers)
	for i := range taken {
		wg.Go(func() {
			for range each {
				taken[i] = append(taken[i], places.next())
			}
		})
	}
	wg.Wait()
	all := slices.Concat(taken...)
	slices.Sort(all)
	if got := len(slices.Compact(all)); got != workers*each {
		t.Errorf("%d draws gave %d numbers, want each once", workers*each, got)
	}
}

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
