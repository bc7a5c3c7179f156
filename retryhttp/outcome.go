package retryhttp

import (
	"net/http"
	"slices"
)

// Outcome is what one attempt has come to, as a classifier sees it. It is valid until the classifier returns.
type Outcome struct {
	// Request is the request that the transport was given.
	Request *http.Request
	// Response is nil if there is none. Its body is not to be touched: see Peek.
	Response *http.Response
	// Err is the error of the attempt, nil if there is a response.
	Err error
	// Attempt is the number of the attempt, from 1.
	Attempt int

	limit int
}

// Peek returns the first bytes of the response's body, 1024 or as many as PeekLimit says. It waits for them. Who gets
// the response later gets them too.
func (o *Outcome) Peek() []byte {
	if o.Response == nil {
		return nil
	}
	return peek(o.Response, o.limit)
}

// Verdict is what a classifier says of an attempt.
type Verdict int

const (
	// Default leaves it to the transport.
	Default Verdict = iota
	// Retry calls the attempt a failure that may be retried, as the policy says, whatever the request's method. If the
	// body cannot be sent again there is no retry all the same.
	Retry
	// Final hands over the response, or the error, as it is.
	Final
)

// ruling is what is to be done about an attempt.
type ruling uint8

const (
	done   ruling = iota // well, as far as the transport is concerned
	failed               // for good
	again                // if the policy says so
)

func (t *transport) judge(o *Outcome) ruling {
	verdict := Default
	if t.classify != nil {
		verdict = t.classify(o)
	}
	bad := o.Err != nil || slices.Contains(t.statuses, o.Response.StatusCode)
	switch {
	case verdict == Final && !bad, verdict == Default && !bad:
		return done
	case verdict == Final, !replayable(o.Request):
		return failed
	case verdict == Retry:
		return again
	case o.Err != nil && hopeless(o.Err):
		return failed
	case t.idempotent(o.Request):
		return again
	case notCarriedOut(o):
		return again
	}
	return failed
}
