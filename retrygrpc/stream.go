package retrygrpc

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/retrywhen/retrywhen/retry"
)

// StreamClientInterceptor returns an interceptor that opens streams again as p decides. The package comment says which
// streams, and which errors it returns. p's hooks must be safe for concurrent use.
//
// For a call with one request and a stream of responses, the first attempt is made at once. The first RecvMsg makes the
// others, and returns the error of all. The request must not change before the first RecvMsg has returned.
//
// Without Limit, Within or StopAt, p retries until the call's context ends.
func StreamClientInterceptor(p retry.Policy, opts ...Option) grpc.StreamClientInterceptor {
	r := newRetrier("StreamClientInterceptor", p, opts)
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		open := func(ctx context.Context) (grpc.ClientStream, error) { return streamer(ctx, desc, cc, method, opts...) }
		switch {
		case !r.retries(method):
			return open(ctx)
		case desc.ClientStreams || !desc.ServerStreams:
			var opened grpc.ClientStream
			err := r.do(ctx, method, func(ctx context.Context, op *retry.Operation, _ int, _ *metadata.MD) (err error) {
				opened, err = open(op.Begin(ctx))
				return err
			})
			return opened, err
		}
		s := &responses{retrier: r, ctx: ctx, method: method, open: open}
		s.reopen(ctx)
		return s, nil
	}
}

// responses is the client side of a call with one request and a stream of responses.
type responses struct {
	retrier *retrier
	ctx     context.Context
	method  string
	open    func(context.Context) (grpc.ClientStream, error)

	mu        sync.Mutex
	present   grpc.ClientStream // the stream of the last attempt
	failed    error             // the error of opening present, or of sending the request again
	request   any               // nil before SendMsg
	closed    bool              // CloseSend has been called
	committed bool              // there are no further attempts
}

// reopen makes an attempt: it opens a stream and sends the same messages again.
func (s *responses) reopen(ctx context.Context) {
	opened, err := s.open(ctx)
	s.mu.Lock()
	s.present, s.failed = opened, err
	request, closed := s.request, s.closed
	s.mu.Unlock()
	if err == nil && request != nil {
		err = opened.SendMsg(request)
	}
	if err == nil && closed {
		err = opened.CloseSend()
	}
	if err != io.EOF { // RecvMsg returns why it is io.EOF
		s.mu.Lock()
		s.failed = err
		s.mu.Unlock()
	}
}

// state returns the current stream, and the error of opening it.
func (s *responses) state() (grpc.ClientStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present, s.failed
}

func (s *responses) SendMsg(m any) error {
	s.mu.Lock()
	s.request = m
	present, failed := s.present, s.failed
	s.mu.Unlock()
	if failed != nil {
		return nil // RecvMsg sends it, or returns the error
	}
	if err := present.SendMsg(m); err != io.EOF {
		return err
	}
	return nil // RecvMsg returns why, or sends it again
}

func (s *responses) CloseSend() error {
	s.mu.Lock()
	s.closed = true
	present, failed := s.present, s.failed
	s.mu.Unlock()
	if failed != nil {
		return nil
	}
	return present.CloseSend()
}

func (s *responses) RecvMsg(m any) error {
	if s.commit() {
		present, failed := s.state()
		if failed != nil {
			return failed
		}
		return present.RecvMsg(m)
	}
	eof := false
	err := s.retrier.do(s.ctx, s.method, func(ctx context.Context, op *retry.Operation, n int, trailer *metadata.MD) error {
		if ctx = op.Begin(ctx); n > 1 {
			s.reopen(ctx)
		}
		present, err := s.state()
		if err != nil {
			return err
		}
		if err = present.RecvMsg(m); err == io.EOF {
			eof = true
			return nil
		}
		if err != nil {
			*trailer = present.Trailer()
		}
		return err
	})
	if eof {
		return io.EOF
	}
	return err
}

// commit prevents further attempts, and reports whether they were prevented before.
func (s *responses) commit() (before bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.committed = s.committed, true
	return before
}

func (s *responses) Header() (metadata.MD, error) {
	s.commit()
	present, failed := s.state()
	if failed != nil {
		return nil, failed
	}
	return present.Header()
}

func (s *responses) Trailer() metadata.MD {
	if present, _ := s.state(); present != nil {
		return present.Trailer()
	}
	return nil
}

func (s *responses) Context() context.Context {
	if present, _ := s.state(); present != nil {
		return present.Context()
	}
	return s.ctx
}
