//go:build race

package conformance_test

// slowdown divides the work of tests that are slow under the race detector.
const slowdown = 10
