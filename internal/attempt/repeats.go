package attempt

// Repeats is a stream.RetryHandler whose answers are no retries: its attempts have no number of their own.
type Repeats interface{ Repeats() }
