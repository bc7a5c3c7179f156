//go:build race

package sim

// raced tells that the race detector is on, which makes everything ten times as slow: what
// compares figures does so with fewer runs, or is left to the tests without it.
const raced = true
