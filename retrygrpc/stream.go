package retrygrpc

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/retrywhen/retrywhen/retry"
)

// StreamClientInterceptor returns an interceptor that opens streams again as p decides. The package comment says which
// streams, and which errors it returns. p's hooks must be safe for concurrent use.
//
// For a call with one request and a stream of responses, the first attempt is made at once. The first RecvMsg, or a
// Header before it, makes the others, until there is a response or a header. If all fail, RecvMsg returns the error. As
// in gRPC, Header returns neither a header nor an error if the stream has ended without one. The request must not
// change before the first RecvMsg or Header has returned.
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
	committed bool              // RecvMsg or Header makes the attempts, or has made them
	heading   chan struct{}     // closed when Header has made them; nil if RecvMsg makes them
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
	if s.commit(nil) {
		return s.attempts(func(present grpc.ClientStream) error { return present.RecvMsg(m) })
	}
	if s.heading != nil {
		<-s.heading
	}
	present, failed := s.state()
	if failed != nil {
		return failed
	}
	return present.RecvMsg(m)
}

// attempts makes attempts until receive, which is called with the stream of each, returns nil or io.EOF, or the policy
// gives up.
func (s *responses) attempts(receive func(grpc.ClientStream) error) error {
	eof := false
	err := s.retrier.do(s.ctx, s.method, func(ctx context.Context, op *retry.Operation, n int, trailer *metadata.MD) error {
		if ctx = op.Begin(ctx); n > 1 {
			s.reopen(ctx)
		}
		present, err := s.state()
		if err != nil {
			return err
		}
		if err = receive(present); err == io.EOF {
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

// commit lets the caller make the attempts, once. heading is not nil for Header, which closes it.
func (s *responses) commit(heading chan struct{}) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first = !s.committed; first {
		s.committed, s.heading = true, heading
	}
	return first
}

func (s *responses) Header() (header metadata.MD, err error) {
	heading := make(chan struct{})
	if !s.commit(heading) {
		present, failed := s.state()
		if present == nil {
			return nil, failed
		}
		return present.Header()
	}
	defer close(heading)
	end := s.attempts(func(present grpc.ClientStream) (err error) {
		if header, err = present.Header(); header == nil && err == nil {
			err = present.RecvMsg(new(emptypb.Empty)) // the stream has ended: with what
		}
		return err
	})
	if end == nil {
		return header, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = end
	if s.present == nil {
		return nil, end
	}
	return nil, nil
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
