package retryhttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Outcome is the result of one attempt, for a classifier. It is valid until the classifier returns.
type Outcome struct {
	// Request is the request passed to the Transport.
	Request *http.Request
	// Response is nil if there is none. Its body must not be touched: see Peek.
	Response *http.Response
	// Err is the error of the attempt, nil if there is a response.
	Err error
	// Attempt is the number of the attempt, from 1.
	Attempt int

	exchange *exchange
}

// Peek returns the first bytes of the response's body, up to 1024 or the number set by PeekLimit. It waits for them up
// to 1 s or the time set by PeekTimeout. Later readers of the response receive these bytes too.
func (o *Outcome) Peek() []byte {
	switch {
	case o.Response == nil:
		return nil
	case o.exchange == nil: // an Outcome made by a test
		return peek(o.Response, peekLimit, peekTimeout, clockOf(o.Request))
	}
	return o.exchange.peekBody(o.Response)
}

// Class is a classifier's decision about an attempt.
type Class int

const (
	// Unclassified leaves the decision to the Transport.
	Unclassified Class = iota
	// Retryable says that the attempt has failed and that the policy may retry it, whatever the request's method. A
	// request whose body cannot be sent again is still not retried.
	Retryable
	// NotRetryable returns the response or the error unchanged.
	NotRetryable
)

// String returns the name of the class.
func (c Class) String() string {
	if names := [...]string{"Unclassified", "Retryable", "NotRetryable"}; c >= 0 && int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("Class(%d)", int(c))
}

// class returns the decision of Classify's function or, if there is none, of the response's header.
func (x *exchange) class() (class Class) {
	if x.transport.classify != nil {
		class = x.transport.classify(&x.Outcome)
	}
	if class == Unclassified && x.transport.rateLimitHeaders && x.Response != nil {
		class = shouldRetry(x.Response)
	}
	return class
}

// judge sets the exchange's failure, nil for none, and whether the attempt is the last one, whatever the policy says.
func (x *exchange) judge(class Class) {
	x.failure, x.final = nil, true
	var checked error
	bad := x.Err != nil || slices.Contains(x.transport.statuses, x.Response.StatusCode) || x.rateLimited()
	if !bad && class == Unclassified {
		checked = x.checkBody()
	}
	switch {
	case x.Err != nil:
		x.failure = x.Err
	case bad || checked != nil || class == Retryable:
		x.failure = x.statusError(checked)
	default:
		return
	}
	if class == NotRetryable || class == Unclassified && x.Err != nil && isHopeless(x.Err) {
		return
	}
	x.final = false
	switch {
	case class != Retryable && !x.keyed && !x.transport.idempotent(x.Request) && !x.notCarriedOut():
		x.failure = &notRetriedError{x.failure, ErrNotIdempotent, method(x.Request) + " is not idempotent, and may have been carried out"}
	case !replayable(x.prepared):
		x.failure = &notRetriedError{x.failure, ErrBodyOnce, "the body can be sent only once: " + x.onlyOnce()}
	}
}

// These are reasons why a request is not sent again. errors.Is finds them in the Last error of the *retry.Error with
// which the policy gives up, which its hooks receive.
var (
	// ErrBodyOnce: the request's body can be sent only once.
	ErrBodyOnce = errors.New("retryhttp: the body can be sent only once")
	// ErrNotIdempotent: the request may have been carried out, and must not be carried out twice.
	ErrNotIdempotent = errors.New("retryhttp: the request is not idempotent, and may have been carried out")
)

// notRetriedError is a failure on which the policy gives up, whatever its limits.
type notRetriedError struct {
	err, reason error
	text        string // the reason, with what would help
}

func (e *notRetriedError) Error() string   { return fmt.Sprintf("%v (not retried: %s)", e.err, e.text) }
func (e *notRetriedError) Unwrap() []error { return []error{e.err, e.reason} }

// Timeout is called by url.Error.
func (e *notRetriedError) Timeout() bool { return isTimeout(e.err) }

func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
