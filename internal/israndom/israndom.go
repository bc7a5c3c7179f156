// Package israndom gives package retry a property of a backoff.Backoff that users do not need.
package israndom

// Backoff reports whether the delays of a backoff.Backoff depend on the draw u. Package backoff sets it.
var Backoff func(b any) bool
