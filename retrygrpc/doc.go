// Package retrygrpc is gRPC with retries, for clients. The interceptors put a policy into a connection, and the code
// that uses the connection stays as it is:
//
//	conn, err := grpc.NewClient(target, grpc.WithDisableRetry(),
//		grpc.WithChainUnaryInterceptor(retrygrpc.UnaryClientInterceptor(retry.Default)),
//		grpc.WithChainStreamInterceptor(retrygrpc.StreamClientInterceptor(retry.Default)))
//
// Receive makes a server stream a stream.Stream, which operators.Resume brings back where it stopped.
//
// Arguments that are no sense (a nil function, no codes) panic when an option or an interceptor is made. Nothing here
// starts a goroutine.
//
// # Which calls are retried
//
// Calls that end with the codes Unavailable or ResourceExhausted, or those of the option Codes; of a policy with an
// AttemptTimeout unary calls that end with DeadlineExceeded too. A call that ended with Unavailable may have been
// carried out: the option Methods leaves out what must not be called twice.
//
// A unary call is repeated as a whole. A call with a stream of responses is opened again, with its request, until its
// first response or header has been received; then its error is the caller's, or Resume's. Of a call with a stream of
// requests only the opening is repeated, for what has been sent is gone.
//
// # How long a retry waits
//
// As the policy says, or at least as long as the server does: by the trailer grpc-retry-pushback-ms, in milliseconds,
// of which a negative number, or what is none, means that the call must not be repeated (gRFC A6), else by the status's
// google.rpc.RetryInfo. Where such a delay passes the policy's MaxRetryAfter or Within, or the call's deadline, there
// is no retry.
//
// # What comes back
//
// An error of a code that is not retried is returned as it is; of one that must not be repeated too, marked as
// permanent. When the policy gives up it is a *retry.Error, for which status.Code returns the last failure's code. When
// the call's context has ended, the code is Canceled or DeadlineExceeded.
//
// # Hooks, contexts, other retries
//
// The policy's hooks get the method by MethodFrom of their context. A retry's context has its number for
// stream.AttemptFrom, and the server gets it by the option AttemptMetadata. AttemptTimeout is for unary calls; a stream
// of responses has stream.Stream's Timeout.
//
// gRPC retries by itself what never reached a server, and beyond that what a service config says: the two multiply, and
// grpc.WithDisableRetry switches the latter off.
package retrygrpc
