package stream

import (
	"context"
	"errors"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Using returns the stream that has a resource of its own for each run: it runs what use returns for the resource that
// open has returned, and calls close with it in every end: when the stream has ended or failed, when the consumer has
// stopped, when ctx has ended, and when the run is ended by a panic, which goes on afterwards. (ReactiveX: using.)
//
//	open, use:  r, then --a--b--|
//	Using:      --a--b--|
//	                    close(r)
//
// close is called once, on the caller's goroutine, before the stream returns; so a retry opens the next resource when
// the one of the failed attempt is closed. An error of open is the failure of the stream, and nothing is closed. An
// error of close is the stream's, joined with the one that it has ended with, if any; when the consumer has stopped it
// is dropped. use must not return nil: the stream fails then, and the resource is closed. Under a context that has
// ended nothing is opened.
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
			switch failed := close(r); {
			case out.Stopped():
				err = nil
			case err == nil && failed != nil:
				err = ending.Error(ctx, failed)
			case failed != nil:
				err = errors.Join(err, failed)
			}
		}()
		s := use(r)
		if s == nil {
			return errors.New("stream: Using: use returned a nil stream")
		}
		return s(ctx, out.Deliver)
	}
}
