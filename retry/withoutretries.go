package retry

import "context"

// WithoutRetries returns a context under which every policy makes one attempt, as with Limit(0). Use it for an inner
// layer whose outer layer retries already, for tests, or to shed load. A failure then ends in an *Error with the Cause
// ErrWithoutRetries. It has no effect on stream.Stream's Retry, nor on a RetryHandler that is not a Policy.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutRetriesKey{}, struct{}{})
}

type withoutRetriesKey struct{}

func withoutRetries(ctx context.Context) bool { return ctx.Value(withoutRetriesKey{}) != nil }
