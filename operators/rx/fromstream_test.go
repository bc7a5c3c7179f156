package rx_test

import "context"

// panicking is a stream with a mistake in it.
func panicking(context.Context, func(int) bool) error { panic("the stream's own panic") }
