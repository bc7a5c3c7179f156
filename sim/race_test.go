//go:build race

package sim

// raced reports whether the race detector is on. It makes everything ten times as slow, so tests that compare figures
// use fewer runs or are skipped.
const raced = true
