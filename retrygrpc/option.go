package retrygrpc

import (
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
)

// Option is one setting of an interceptor.
type Option func(*settings)

// settings holds the options.
type settings struct {
	codes   []codes.Code
	methods func(string) bool
	numbers bool
}

// Codes replaces the default set of codes that are retried: Unavailable and ResourceExhausted.
func Codes(c ...codes.Code) Option {
	if len(c) == 0 {
		panicf("Codes", "there are none, want at least one")
	}
	if slices.Contains(c, codes.OK) {
		panicf("Codes", "one is OK, want those of failures")
	}
	c = slices.Clone(c)
	return func(s *settings) { s.codes = slices.Clip(c) }
}

// Methods retries only calls of methods for which f returns true; other calls are made without retries. A method's name
// is of the form "/package.Service/Method". f must be safe for concurrent use.
func Methods(f func(method string) bool) Option {
	if f == nil {
		panicf("Methods", "f is nil")
	}
	return func(s *settings) { s.methods = f }
}

// AttemptMetadata adds x-retry-attempt to the metadata of each retry: 1 for the first retry. The first attempt does not
// have it.
func AttemptMetadata() Option {
	return func(s *settings) { s.numbers = true }
}

// set returns the settings of an interceptor's options.
func set(where string, opts []Option) settings {
	s := settings{codes: []codes.Code{codes.Unavailable, codes.ResourceExhausted}}
	for i, o := range opts {
		if o == nil {
			panicf(where, "opts[%d] is nil", i)
		}
		o(&s)
	}
	return s
}

func panicf(where, format string, args ...any) {
	panic("retrygrpc: " + where + ": " + fmt.Sprintf(format, args...))
}
