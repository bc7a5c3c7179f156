package retrygrpc

import (
	"context"
	"io"
	"math"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/retrywhen/retrywhen/retry"
)

// IsTransient reports whether the same call may succeed later. Use it in retry.If, with Receive and operators.Resume,
// for calls that may be carried out twice. It returns true if err has a status of Unavailable, ResourceExhausted,
// Aborted, Internal, Unknown or DeadlineExceeded, or a status whose server says when to retry. An error without a
// status counts as Unknown.
func IsTransient(err error) bool {
	s := status.Convert(err)
	switch s.Code() {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unknown, codes.DeadlineExceeded:
		return true
	}
	_, ok := retryInfo(s)
	return ok
}

// sent returns err, or Unavailable for io.EOF: gRPC returns it from the invocation of a method, without a status, if
// the connection broke after the call had begun and before its request was written.
func sent(err error) error {
	if err == io.EOF {
		return status.Error(codes.Unavailable, "retrygrpc: connection broken before the request was sent")
	}
	return err
}

// dictated returns err with the delay that the server dictates, or marked as permanent if the server says that the call
// must not be repeated.
func dictated(err error, trailer metadata.MD) error {
	delay, _ := retryInfo(status.Convert(err))
	if pushback := trailer.Get("grpc-retry-pushback-ms"); len(pushback) > 0 {
		ms, e := strconv.ParseInt(pushback[0], 10, 64)
		if e != nil || ms < 0 || len(pushback) > 1 {
			return retry.Permanent(err)
		}
		delay = time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	if delay > 0 {
		return retry.RetryAfter(err, delay)
	}
	return err
}

// retryInfo returns the delay of the status's RetryInfo, and whether there is one.
func retryInfo(s *status.Status) (time.Duration, bool) {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok && info.GetRetryDelay().IsValid() {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

// endedError is the error of a call whose context has ended.
type endedError struct {
	error
	cause error // the code for the context's end
}

func (e *endedError) Unwrap() error { return e.error }

// GRPCStatus is called by package status.
func (e *endedError) GRPCStatus() *status.Status {
	return status.New(status.FromContextError(e.cause).Code(), e.Error())
}

// ended returns the error that ends the operation, whose context is ctx.
func ended(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return &endedError{err, cause}
	}
	return err
}
