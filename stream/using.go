package stream

import (
	"context"
	"errors"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Using gives each run its own resource: it calls open, runs the stream that use returns for the resource, and calls
// close with the resource. close is called however the run ends: the stream has ended or failed, the consumer has
// stopped, ctx has ended, or the run has panicked; the panic continues after close. (ReactiveX: using.)
//
//	open, use:  r, then --a--b--|
//	Using:      --a--b--|
//	                    close(r)
//
// close is called once, on the caller's goroutine, before the stream returns. So a retry opens the next resource after
// the one of the failed attempt is closed. An error of open is a failure of the stream, and nothing is closed. An error
// of close is a failure of the stream too, joined with the stream's own error, if any; if the consumer has stopped, it
// is dropped. If use returns nil, the stream fails and the resource is closed. Under a context that has ended nothing
// is opened.
//
//	lines := stream.Using(open, scan, (*os.File).Close)
func Using[R, T any](open func(context.Context) (R, error), use func(R) Stream[T], close func(R) error) Stream[T] {
	requireFunc(open == nil, "Using: open")
	requireFunc(use == nil, "Using: use")
	requireFunc(close == nil, "Using: close")
	return func(ctx context.Context, yield func(T) bool) (err error) {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		r, err := open(ctx)
		if err != nil {
			return ending.Error(ctx, err)
		}
		out := ending.NewConsumer(yield)
		defer func() {
			switch failure := close(r); {
			case out.Stopped():
				err = nil
			case err == nil && failure != nil:
				err = ending.Error(ctx, failure)
			case failure != nil:
				err = errors.Join(err, failure)
			}
		}()
		s := use(r)
		if s == nil {
			return errors.New("stream: Using: use returned a nil stream")
		}
		return s(ctx, out.Deliver)
	}
}
