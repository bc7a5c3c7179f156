package operators

import (
	"context"
	"errors"
	"fmt"
)

// ended returns nil while ctx lasts, then its cause.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// failedUnder returns err, the error of something that was run under ctx; when ctx has ended, the error matches its
// cause too.
func failedUnder(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	cause := context.Cause(ctx)
	switch {
	case err == nil || reaches(cause, err):
		return cause
	case reaches(err, cause):
		return err
	}
	return fmt.Errorf("%w: after the failure: %w", cause, err)
}

// reaches is errors.Is for errors of any type: comparing two errors panics when their type holds, in an interface,
// something that cannot be compared.
func reaches(err, target error) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return errors.Is(err, target)
}

// nilStream is the error of an operator whose function f has returned no stream.
func nilStream(operator string) error {
	return fmt.Errorf("operators: %s: f returned a nil stream", operator)
}
