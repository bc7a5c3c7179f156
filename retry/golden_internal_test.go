package retry

import (
	"math"
	"math/big"
	"slices"
	"sync"
	"testing"
)

func TestGolden_NumbersAreExactAfterManyMillions(t *testing.T) {
	// The ratio to 64 bits, rounded up like goldenStep.
	ratio := new(big.Int).SetUint64(goldenStep)
	if got, want := float64(goldenStep)/(1<<64), (math.Sqrt(5)-1)/2; got != want {
		t.Fatalf("the step is %v of a turn, want %v", got, want)
	}
	turn := new(big.Int).Lsh(big.NewInt(1), 64)
	for _, start := range []uint64{0, 1, 0x123456789ABCDEF0, math.MaxUint64} {
		for _, k := range []uint64{1, 2, 1_000_000, 1 << 40, math.MaxUint64} {
			var s goldenSequence
			s.at.Store(start + (k-1)*goldenStep)
			x := new(big.Int).Mul(new(big.Int).SetUint64(k), ratio)
			x.Add(x, new(big.Int).SetUint64(start)).Mod(x, turn).Rsh(x, 11)
			if got, want := s.next(), float64(x.Int64())/(1<<53); got != want {
				t.Errorf("number %d from %d is %v, want %v", k, start, got, want)
			}
		}
	}
}

func TestGolden_NumbersLieInTheUnitInterval(t *testing.T) {
	var s goldenSequence
	s.at.Store(math.MaxUint64 - goldenStep)
	if got := s.next(); got < 0 || got >= 1 {
		t.Fatalf("the largest number is %v, want less than 1", got)
	}
	if got := s.next(); got < 0 || got >= 1 {
		t.Fatalf("the number after it is %v, want in [0,1)", got)
	}
}

func TestGolden_GapsHaveAtMostThreeLengths(t *testing.T) {
	var s goldenSequence
	for _, n := range []int{2, 10, 100, 1000, 1597} {
		var x []float64
		for range n {
			x = append(x, s.next())
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

func TestGolden_HandsOutEachNumberOnce(t *testing.T) {
	const workers, each = 8, 5000
	var wg sync.WaitGroup
	drawn := make([][]float64, workers)
	for i := range drawn {
		wg.Go(func() {
			for range each {
				drawn[i] = append(drawn[i], places.next())
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

func TestGolden_AllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { places.next() }); n != 0 {
		t.Errorf("a number allocates %v times, want 0", n)
	}
}

func BenchmarkGolden(b *testing.B) {
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			places.next()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				places.next()
			}
		})
	})
}
