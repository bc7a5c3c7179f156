package golden

import (
	"math"
	"math/big"
	"slices"
	"sync"
	"testing"
)

var places = NewSequence(1 << 40)

func TestNumbersAreExactAfterManyMillions(t *testing.T) {
	// The ratio to 64 bits, rounded up like Step.
	ratio := new(big.Int).SetUint64(Step)
	if got, want := float64(Step)/(1<<64), (math.Sqrt(5)-1)/2; got != want {
		t.Fatalf("the step is %v of a turn, want %v", got, want)
	}
	turn := new(big.Int).Lsh(big.NewInt(1), 64)
	for _, start := range []uint64{0, 1, 0x123456789ABCDEF0, math.MaxUint64} {
		for _, k := range []uint64{1, 2, 1_000_000, 1 << 40, math.MaxUint64} {
			var s Sequence
			s.at.Store(start + (k-1)*Step)
			x := new(big.Int).Mul(new(big.Int).SetUint64(k), ratio)
			x.Add(x, new(big.Int).SetUint64(start)).Mod(x, turn).Rsh(x, 11)
			if got, want := s.Next(), float64(x.Int64())/(1<<53); got != want {
				t.Errorf("number %d from %d is %v, want %v", k, start, got, want)
			}
		}
	}
}

func TestNumbersLieInTheUnitInterval(t *testing.T) {
	var s Sequence
	s.at.Store(math.MaxUint64 - Step)
	if got := s.Next(); got < 0 || got >= 1 {
		t.Fatalf("the largest number is %v, want less than 1", got)
	}
	if got := s.Next(); got < 0 || got >= 1 {
		t.Fatalf("the number after it is %v, want in [0,1)", got)
	}
}

func TestGapsHaveAtMostThreeLengths(t *testing.T) {
	var s Sequence
	for _, n := range []int{2, 10, 100, 1000, 1597} {
		var x []float64
		for range n {
			x = append(x, s.Next())
		}
		slices.Sort(x)
		gaps := []float64{x[0] + 1 - x[n-1]}
		for i := 1; i < n; i++ {
			gaps = append(gaps, x[i]-x[i-1])
		}
		slices.Sort(gaps)
		lengths := slices.CompactFunc(slices.Clone(gaps), func(a, b float64) bool { return b-a < 1e-12 })
		if len(lengths) > 3 {
			t.Errorf("%d numbers in a row leave gaps of %d lengths, want at most 3", n, len(lengths))
		}
		if most := gaps[n-1] * float64(n); most > 2.7 {
			t.Errorf("%d numbers leave a gap of %.2f even shares, want at most 2.7", n, most)
		}
	}
}

func TestHandsOutEachNumberOnce(t *testing.T) {
	const workers, each = 8, 5000
	var wg sync.WaitGroup
	drawn := make([][]float64, workers)
	for i := range drawn {
		wg.Go(func() {
			for range each {
				drawn[i] = append(drawn[i], places.Next())
			}
		})
	}
	wg.Wait()
	all := slices.Concat(drawn...)
	slices.Sort(all)
	if got := len(slices.Compact(all)); got != workers*each {
		t.Errorf("%d draws gave %d numbers, want each once", workers*each, got)
	}
}

func TestAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { places.Next() }); n != 0 {
		t.Errorf("a number allocates %v times, want 0", n)
	}
}

func BenchmarkNext(b *testing.B) {
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			places.Next()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				places.Next()
			}
		})
	})
}
