//go:build race

package conformance_test

// slowdown divides what takes long under the race detector.
const slowdown = 10
