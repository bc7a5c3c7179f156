// Package retrygrpc adds retries to gRPC clients. Its interceptors add a policy to a connection; the code that uses the
// connection does not change:
//
//	conn, err := grpc.NewClient(target, grpc.WithDisableRetry(),
//		grpc.WithChainUnaryInterceptor(retrygrpc.UnaryClientInterceptor(retry.Default)),
//		grpc.WithChainStreamInterceptor(retrygrpc.StreamClientInterceptor(retry.Default)))
//
// Receive makes a server stream a stream.Stream, which operators.Resume continues where it stopped.
//
// Invalid arguments (a nil function, no codes) panic when an option or an interceptor is made, with the argument's
// name.
//
// # Which calls are retried
//
// Calls are retried if they end with the codes Unavailable or ResourceExhausted, or those of the option Codes. If the
// policy has an AttemptTimeout, unary calls that end with DeadlineExceeded are retried too. A call that ended with
// Unavailable may have been carried out: exclude methods that must not be called twice with the option Methods. The
// io.EOF without a status that gRPC returns if a connection breaks before the request is sent counts as Unavailable.
//
// A unary call is repeated as a whole. A call with a stream of responses is opened again, with its request, until its
// first response or header has been received; a later error goes to the caller, or to Resume. For a call with a stream
// of requests only the opening is repeated, because the requests sent are not kept.
//
// # How long a retry waits
//
// The policy decides the delay. The server can dictate a minimum: with the trailer grpc-retry-pushback-ms, in
// milliseconds, where a negative number or anything that is not a number means that the call must not be repeated (gRFC
// A6), else with the status's google.rpc.RetryInfo. If that delay exceeds the policy's MaxRetryAfter or Within, or the
// call's deadline, there is no retry.
//
// # What is returned
//
// An error with a code that is not retried is returned unchanged. The error of a call that must not be repeated is
// marked as permanent. When the policy gives up, the error is a *retry.Error, for which status.Code returns the code of
// the last failure. When the call's context has ended, the code is Canceled or DeadlineExceeded.
//
// # Hooks, contexts, other retries
//
// MethodFrom returns the method from the context of the policy's hooks. stream.AttemptFrom returns the number of a
// retry from its context; the option AttemptMetadata sends it to the server. AttemptTimeout is for unary calls; for a
// stream of responses use stream.Stream's Timeout.
//
// gRPC itself retries calls that never reached a server, and further calls if a service config says so. These retries
// multiply with those of the policy: grpc.WithDisableRetry switches off those of the service config.
package retrygrpc
