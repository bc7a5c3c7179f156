package retry

import "context"

// WithoutRetries returns a context under which every policy makes one attempt, as with Limit(0): for an inner layer
// whose outer one retries already, for tests, for shedding load. A failure then ends in an *Error with the Cause
// ErrLimit. It does not concern stream.Stream's Retry, nor a RetryHandler that is not a Policy.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutRetriesKey{}, struct{}{})
}

type withoutRetriesKey struct{}

func withoutRetries(ctx context.Context) bool { return ctx.Value(withoutRetriesKey{}) != nil }
