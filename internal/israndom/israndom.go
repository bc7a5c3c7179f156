// Package israndom is what package retry has to know of a backoff.Backoff and users have not.
package israndom

// Backoff reports whether the delays of a backoff.Backoff depend on the draw u that it is given. Package backoff sets
// it.
var Backoff func(b any) bool
