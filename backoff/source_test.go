package backoff_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
)

func TestAFixedPlaceIgnoresTheDraw(t *testing.T) {
	var placed []backoff.Backoff
	for _, b := range everyCurve() {
		b = b.Jitter(jitter.Full)
		placed = append(placed, b.Keyed(42), b.Ordinal(42))
	}
	for _, b := range append(placed, backoff.Linear(time.Minute).Tiled().Ordinal(3)) {
		for _, n := range []int{1, 2, 7, 100} {
			want := b.At(n, 0)
			for _, u := range []float64{0.3, below1, math.NaN()} {
				if got := b.At(n, u); got != want {
					t.Errorf("(%v).At(%d, %v) = %v, and %v for 0", b, n, u, got, want)
				}
				if got, want := b.After(n, time.Minute, u), b.After(n, time.Minute, 0); got != want {
					t.Errorf("(%v).After(%d, 1m, %v) = %v, and %v for 0", b, n, u, got, want)
				}
				if got, want := b.Dictated(time.Minute, -1, u), b.Dictated(time.Minute, -1, 0); got != want {
					t.Errorf("(%v).Dictated(1m, %v) = %v, and %v for 0", b, u, got, want)
				}
			}
			if got := b.Delay(n); got != want {
				t.Errorf("(%v).Delay(%d) = %v, want At's %v", b, n, got, want)
			}
		}
	}
}

func TestAFixedPlaceIsTheSameForEveryRetry(t *testing.T) {
	for _, b := range []backoff.Backoff{backoff.Linear(time.Hour).Jitter(jitter.Full).Keyed(7), backoff.Linear(time.Hour).Jitter(jitter.Full).Ordinal(7)} {
		u := float64(b.At(1, 0)) / float64(time.Hour)
		for n := 2; n < 50; n++ {
			if got := float64(b.At(n, 0)) / float64(time.Duration(n)*time.Hour); math.Abs(got-u) > 1e-12 {
				t.Errorf("%v: retry %d has the draw %v, the first had %v", b, n, got, u)
			}
		}
	}
}

// Member i is at frac(½ + i·φ).
func TestOrdinalPlaces(t *testing.T) {
	b := backoff.Constant(1000 * time.Second).Jitter(jitter.Full)
	for i, want := range map[uint64]time.Duration{0: 500000, 1: 118034, 2: 736068, 3: 354102, 1000: 533989, math.MaxUint64: 881966} {
		if got := b.Ordinal(i).Delay(1).Round(ms); got != want*ms {
			t.Errorf("member %d is at %v of 1000s, want %v", i, got, want*ms)
		}
	}
}

// However many members there are, and wherever their numbers begin, no gap between their places is large.
func TestOrdinalsLieEvenly(t *testing.T) {
	b := backoff.Constant(1 << 52).Jitter(jitter.Full)
	for _, first := range []uint64{0, 1, 77, math.MaxUint64 - 3, 1 << 63} {
		for _, members := range []int{1, 2, 3, 10, 100, 1000} {
			places := make([]time.Duration, members)
			for i := range places {
				places[i] = b.Ordinal(first + uint64(i)).Delay(1)
			}
			slices.Sort(places)
			largest := places[0] + 1<<52 - places[members-1] // around the end
			for i := 1; i < members; i++ {
				largest = max(largest, places[i]-places[i-1])
			}
			if over := float64(largest) * float64(members) / (1 << 52); over > 2.2 {
				t.Errorf("%d members from %d: the largest gap is %.2f times the mean", members, first, over)
			}
		}
	}
}

func TestKeyedAndOrdinalReplaceEachOther(t *testing.T) {
	b := backoff.Sidekiq()
	if b.Keyed(1).Ordinal(2) != b.Ordinal(2) || b.Ordinal(2).Keyed(1) != b.Keyed(1) || b.Keyed(1) == b.Ordinal(1) {
		t.Error("the place set last is not the only one")
	}
}

// Stored delays and running fleets depend on where a key is put: it must never
// change. Key 0 is at splitmix64's first number from seed 0, 0xE220A8397B1DCDAF.
func TestKeyedPlaces(t *testing.T) {
	for key, want := range map[uint64]time.Duration{0: 883311, 1: 566562, 2: 591190, 7: 389830, math.MaxUint64: 893943} {
		if got := backoff.Constant(1000 * time.Second).Jitter(jitter.Full).Keyed(key).Delay(1).Round(ms); got != want*ms {
			t.Errorf("key %d is at %v of 1000s, want %v", key, got, want*ms)
		}
	}
}

func TestKeysSpreadEvenly(t *testing.T) {
	const keys, buckets = 20_000, 20
	for name, key := range map[string]func(i uint64) uint64{
		"small":        func(i uint64) uint64 { return i },
		"even":         func(i uint64) uint64 { return 2 * i },
		"high":         func(i uint64) uint64 { return i << 44 },
		"golden steps": func(i uint64) uint64 { return i * 0x9E3779B97F4A7C15 },
	} {
		var count [buckets]float64
		for i := range uint64(keys) {
			d := backoff.Constant(buckets * time.Second).Jitter(jitter.Full).Keyed(key(i)).Delay(1)
			count[d/time.Second]++
		}
		var χ2 float64
		for _, c := range count {
			χ2 += (c - keys/buckets) * (c - keys/buckets) / (keys / buckets)
		}
		if χ2 > 43.8 { // 0.1 % of 19 degrees of freedom
			t.Errorf("%s keys: χ² is %.1f over %d buckets, want < 43.8", name, χ2, buckets)
		}
	}
}

func TestKeyedTilesGiveEachJobAFixedPlace(t *testing.T) {
	// 500 jobs, one process each: their third retries lie in the third tile.
	begin, end := 3*time.Second, 6*time.Second
	var half int
	for key := range uint64(500) {
		b, at := backoff.Linear(time.Second).Tiled().Keyed(key), time.Duration(0)
		for n := 1; n <= 3; n++ {
			at += b.Delay(n)
		}
		if at < begin-3 || at > end+3 {
			t.Errorf("job %d retries for the third time at %v, want between %v and %v", key, at, begin, end)
		}
		if at < (begin+end)/2 {
			half++
		}
	}
	if half < 200 || half > 300 {
		t.Errorf("%d of 500 jobs are in the first half of the tile", half)
	}
}

// A key or an ordinal fixes the draw, so the delays are not random.
func TestIsRandom(t *testing.T) {
	b := backoff.Constant(time.Second).Jitter(jitter.Full)
	draws := backoff.Func(func(_ int, u float64) time.Duration { return time.Duration(u * float64(time.Hour)) })
	for _, c := range []struct {
		b    backoff.Backoff
		want bool
	}{{b, true}, {b.Keyed(1), false}, {b.Ordinal(1), false}, {backoff.Constant(time.Second), false}, {backoff.Sidekiq(), true}, {draws, true}, {draws.Keyed(1), false}} {
		if got := c.b.IsRandom(); got != c.want {
			t.Errorf("%v is random: %v, want %v", c.b, got, c.want)
		}
	}
}
