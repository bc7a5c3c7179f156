package backoff

import (
	"math"
	"time"
)

// Sidekiq returns the Backoff of the job queue Sidekiq: (k⁴ + 15 + u·30·(k+1)) s with k = n-1, so 15 s to 45 s before
// the first retry, and about 20 days in total for 25 retries. It is random by itself. Source: "Visualization of backoff
// functions".
func Sidekiq() Backoff { return Backoff{kind: sidekiq} }

// Buckets returns the Backoff that draws the n-th delay evenly between unit·k^exponent and unit·(k+2)^exponent, k =
// n-1: ranges that grow and overlap. It is random by itself. Source: "Visualization of backoff functions".
func Buckets(unit time.Duration, exponent float64) Backoff { return buckets.of(unit, exponent) }

// span is the range of Sidekiq or Buckets, for n >= 1.
func (b *Backoff) span(n int) (lo, hi time.Duration) {
	k := uint64(n) - 1
	if b.kind == buckets {
		return timesPower(b.d, k, b.x), timesPower(b.d, k+2, b.x)
	}
	lo = add(times(time.Second, power(k, 4)), 15*time.Second)
	return lo, add(lo, times(30*time.Second, k+1))
}

// between is the delay of Sidekiq or Buckets.
func (b *Backoff) between(n int, u float64) time.Duration {
	lo, hi := b.span(n)
	if add(hi, b.plus) <= b.limit() {
		return b.finish(add(add(lo, scale(hi-lo, u)), b.plus), u)
	}
	r := b.ratio(n)
	return b.atCap((r + float64(u*(1-r))) * b.factor(u))
}

// ratio is the low end of span divided by its high end, both with Plus. Scaling the range down to the cap keeps it. It
// is computed in float64, because the ends may far exceed a Duration.
func (b *Backoff) ratio(n int) float64 {
	k, plus := float64(n-1), float64(b.plus)
	lo, hi := (k*k*k*k+15)*1e9, (k*k*k*k+15+30*(k+1))*1e9
	if b.kind == buckets {
		if b.d == 0 {
			return 1
		}
		lo, hi = float64(b.d)*math.Pow(k, b.x), float64(b.d)*math.Pow(k+2, b.x)
		if math.IsInf(hi, 1) { // then plus is negligible
			return math.Pow(k/(k+2), b.x)
		}
	}
	return (lo + plus) / (hi + plus)
}
