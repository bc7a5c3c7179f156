package retryhttp

import (
	"errors"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/retry"
)

// Gate makes all requests of the Transport wait once one of them was refused for a time. A 429, 503 or 529 that
// dictates a delay (Retry-After, or what RateLimitHeaders reads) closes the gate for its URL's Host until that time, at
// most for an hour. Until then, and by the policy's spread a little longer (backoff.Backoff.Dictated), every request to
// that host waits before it is sent, the first attempt of a request too. So one of 100 callers is refused, not each.
//
// Of several such responses the one with the latest time counts; a success does not open the gate. The wait is no part
// of an attempt: AttemptTimeout does not limit it, and no limit, budget or hook of the policy sees it. A Signal of the
// policy (retry.ResetOn) lets the requests pass that wait when it fires. If the wait would pass the deadline of the
// request's context, or the policy's MaxRetryAfter, RoundTrip returns at once, with nothing sent, a *retry.Error whose
// Cause matches retry.ErrDeadline or retry.ErrMaxRetryAfter and whose Last is the *StatusError of the response.
//
// Use one Transport for each credential: the 429 of one user would close the gate for all. Do not use Gate with a
// server that gives each refused request a time of its own, as Slots does.
func Gate() Option {
	return func(s *settings) { s.gate = &gate{closed: map[string]closing{}} }
}

// gate holds back the requests of a Transport.
type gate struct {
	mu     sync.Mutex
	closed map[string]closing // by URL.Host
}

// closing is a time until which requests wait, and the response that dictates it.
type closing struct {
	until time.Time
	by    *StatusError
}

// passGate waits until the gate lets the exchange's next attempt pass. It returns an error if it will not.
func (x *exchange) passGate() error {
	for g := x.transport.gate; g != nil; {
		now, host := x.clock().Now(), x.Request.URL.Host
		g.mu.Lock()
		c := g.closed[host]
		if !c.until.After(now) {
			delete(g.closed, host)
			g.mu.Unlock()
			break
		}
		g.mu.Unlock()
		if err := attempt.WaitFor(x.ctx, x.transport.policy, c.by, c.until.Sub(now)); err != nil {
			if e, ok := errors.AsType[*retry.Error](err); ok {
				e.Cause = &unsentError{e.Cause}
			}
			return err
		}
		if x.clock().Now().Before(c.until) {
			break // by a signal
		}
	}
	return nil
}

// closeGate closes the gate if the response says when to come back.
func (x *exchange) closeGate() {
	g := x.transport.gate
	if g == nil || x.Response == nil || !isOverload(x.Response.StatusCode) {
		return
	}
	e, ok := errors.AsType[*StatusError](x.failure)
	if !ok {
		e = x.newStatusError(nil)
	}
	host, now := x.Request.URL.Host, x.clock().Now()
	c := closing{now.Add(min(e.after, time.Hour)), e}
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.until.After(g.closed[host].until) {
		g.closed[host] = c
	}
}
