package stream

import "context"

// closed reports whether done is closed; a nil done never is.
func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// ended returns nil while ctx lasts, then its cause.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// failedUnder returns err, the error of a piece of code that was run under ctx; it matches the cause too when ctx has
// ended.
func failedUnder(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cancelled(ctx, err)
	}
	return err
}
