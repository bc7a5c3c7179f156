package retryhttp

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Slots returns a handler that passes at most perSecond requests a second to next, after a burst of burst requests. It
// refuses other requests and tells their clients when to retry. So clients that follow Retry-After and get a slot retry
// once, at the rate that the server can take. Slots is for a single server: each server counts separately.
//
// A refused request receives the next free slot: a 429 with the time until then as Retry-After, in whole seconds
// rounded up, and exactly in the header Retry-After-Ms (the option RateLimitHeaders reads it). The slot is reserved for
// that request until its retry comes, or for twice the time plus 2 s, because clients may add jitter. After that, any
// other request may use it for 1 s. So new requests queue after refused ones, and neither can starve the other. The
// handler recognizes a retry by the client's address, method, URL, Authorization and Idempotency-Key; two clients that
// do not differ in these share their slots.
//
// Slots are given out for the next 10 minutes, and at most 100,000. A request beyond that receives a 503, with a
// Retry-After between the time of the last slot and one and a half times that.
//
// The rate is an average: clients that round up or add jitter may come at the same time as others. A retry that comes
// too early is refused again, with a new slot. The clock is that of the request's context (stream.WithClock in
// http.Server's BaseContext), else the system clock. Slots never waits.
func Slots(perSecond float64, burst int, next http.Handler) http.Handler {
	switch {
	case !(perSecond > 0) || math.IsInf(perSecond, 1):
		panicf("Slots", "perSecond is %v, want a finite number above 0", perSecond)
	case burst < 1:
		panicf("Slots", "burst is %d, want at least 1", burst)
	case next == nil:
		panicf("Slots", "next is nil")
	}
	interval := saturate(1/perSecond, time.Second)
	s := &slots{interval: interval, ahead: saturate(float64(burst-1)*interval.Seconds(), time.Second), kept: map[uint64][]*slot{}}
	seed := maphash.MakeSeed()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch wait, kept := s.admit(requestKey(seed, r), stream.ClockFrom(r.Context()).Now()); {
		case wait == 0:
			next.ServeHTTP(w, r)
		case kept:
			refuse(w, http.StatusTooManyRequests, wait)
		default:
			refuse(w, http.StatusServiceUnavailable, wait+time.Duration(rand.Int64N(int64(wait/2)+1)))
		}
	})
}

const (
	slotHorizon = 10 * time.Minute
	slotsKept   = 100_000
	slotSlack   = 2 * time.Second // for a Retry-After that is rounded up, and for the network
	slotFree    = time.Second
)

// slots gives out the slots of one rate. It is a token bucket that lends: full is the time when the bucket would be
// full again.
type slots struct {
	interval time.Duration // time between slots
	ahead    time.Duration // the part of the burst beyond the first request

	mu    sync.Mutex
	full  time.Time
	queue []*slot // in the order of their times
	kept  map[uint64][]*slot
}

// slot is a time at which a request may come back.
type slot struct {
	at, until time.Time // it is reserved for its key from at until until
	key       uint64
	taken     bool
}

// admit returns 0 if a request may pass now, else the wait until its slot, and whether the slot is reserved for it.
func (s *slots) admit(key uint64, now time.Time) (wait time.Duration, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	if own := s.kept[key]; len(own) > 0 && !own[0].at.After(now) {
		s.take(own[0])
		return 0, false
	}
	if len(s.queue) > 0 && s.queue[0].until.Before(now) {
		s.take(s.queue[0])
		return 0, false
	}
	if s.full.Before(now) {
		s.full = now
	}
	at := s.full.Add(-s.ahead)
	if !at.After(now) {
		s.full = s.full.Add(s.interval)
		return 0, false
	}
	wait = min(at.Sub(now), math.MaxInt64/2)
	if wait > slotHorizon || len(s.queue) >= slotsKept {
		return wait, false
	}
	s.full = s.full.Add(s.interval)
	next := &slot{at: at, until: at.Add(wait + slotSlack), key: key}
	s.queue, s.kept[key] = append(s.queue, next), append(s.kept[key], next)
	return wait, true
}

// expire removes the slots at the head of the queue that are taken, or have been free for long enough.
func (s *slots) expire(now time.Time) {
	for len(s.queue) > 0 {
		head := s.queue[0]
		if !head.taken {
			if !head.until.Add(slotFree).Before(now) {
				return
			}
			s.take(head)
		}
		s.queue = s.queue[1:]
	}
}

// take takes a slot, which is the first of its key.
func (s *slots) take(t *slot) {
	t.taken = true
	if own := s.kept[t.key][1:]; len(own) > 0 {
		s.kept[t.key] = own
	} else {
		delete(s.kept, t.key)
	}
}

// requestKey returns a hash of what a request has in common with its next attempt, but not with other requests.
func requestKey(seed maphash.Seed, r *http.Request) uint64 {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return maphash.Comparable(seed, [...]string{
		host, r.Method, r.Host, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"),
	})
}

// refuse writes a response with the time at which to retry.
func refuse(w http.ResponseWriter, code int, wait time.Duration) {
	ms := int64((wait + time.Millisecond - 1) / time.Millisecond)
	w.Header().Set("Retry-After-Ms", strconv.FormatInt(ms, 10))
	w.Header().Set("Retry-After", strconv.FormatInt((ms+999)/1000, 10))
	http.Error(w, fmt.Sprintf("too many requests: come back in %d ms", ms), code)
}
