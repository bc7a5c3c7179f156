package reconnecttest

// Option changes what [CheckResume] and [Check] expect.
type Option func(*expected)

// expected is what a check expects of a client. The zero value is the strictest.
type expected struct{ repeats, anyOrder, givesUp, noJitter bool }

// AtLeastOnce makes a repeated value no fault, for a client whose source cannot tell where it stopped.
func AtLeastOnce() Option { return func(e *expected) { e.repeats = true } }

// AnyOrder makes it no fault that values come in another order than undisturbed, as after Merge or MapRetry.
func AnyOrder() Option { return func(e *expected) { e.anyOrder = true } }

// GivesUp allows the client to end with an error when an outage lasts for an hour. It may not end without an error.
func GivesUp() Option { return func(e *expected) { e.givesUp = true } }

// NoJitter makes it no fault that two clients wait for the same time.
func NoJitter() Option { return func(e *expected) { e.noJitter = true } }
