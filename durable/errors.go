package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Errors of this package match these with errors.Is, and also the error of nats.go that caused them.
var (
	// ErrClosed: the queue or its connection was closed.
	ErrClosed = errors.New("the queue is closed")
	// ErrUnreachable: no server responded.
	ErrUnreachable = errors.New("no server can be reached")
	// ErrRefused: the server refused the credentials, or the user lacks a permission, or the server lacks a feature.
	ErrRefused = errors.New("the server refused")
	// ErrOtherConfig: the queue's stream or a consumer exists with a different configuration.
	ErrOtherConfig = errors.New("the queue exists with another configuration")
	// ErrGone: the queue's stream or a consumer was deleted on the server. The queue may have begun again since: open it.
	ErrGone = errors.New("the queue was deleted on the server")
	// ErrTooLarge: the job is larger than the limit.
	ErrTooLarge = errors.New("the job is too large")
	// ErrFull: the server's disk, its memory or a limit of the account is full.
	ErrFull = errors.New("the server has no room left")
	// ErrNotStored: the server did not confirm the job in time. The job may have been stored or not. Put it again with the
	// same id.
	ErrNotStored = errors.New("not known to be stored")
	// ErrExists: a job with this id exists, or has ended less than Config.Remember ago. Nothing was stored.
	ErrExists = errors.New("a job with that id exists")
	// ErrTaken: the lease has run out, and another worker has the job or has settled it.
	ErrTaken = errors.New("another worker has taken the job")
	// ErrCancelled is the cause of the end of a handler's context: the job was cancelled, or another worker has done it.
	ErrCancelled = errors.New("the job was cancelled")
	// ErrNotFound: there is no dead letter with this id, or no job for Get and Cancel.
	ErrNotFound = errors.New("not found")
	// ErrSettled: the attempt was reported before.
	ErrSettled = errors.New("the attempt is settled already")
	// ErrStillRunning: Work or Close has ended although a handler, or a consumer of Jobs, has not returned.
	ErrStillRunning = errors.New("a handler has not returned")
	// ErrAbandoned: Config.MaxCrashes attempts at the job have begun and never ended.
	ErrAbandoned = errors.New("attempts begin and never end: the workers die or do not respond")
)

// PanicError is the failure of an attempt that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value and the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// failure is an error of this package.
type failure struct {
	what  string // what was being done
	kind  error  // one of the exported errors
	cause error  // nil if there is none
	help  string // what to do, "" if unknown
}

func (e *failure) Error() string {
	text := "durable: " + e.what + ": " + e.kind.Error()
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	if e.help != "" {
		text += ": " + e.help
	}
	return text
}

func (e *failure) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// Error codes of the server for which nats.go has no names.
const (
	// the server's limit of storage or memory is reached
	codeInsufficientResources, codeStorageExceeded jetstream.ErrorCode = 10023, 10047

	codeStoreFailed      jetstream.ErrorCode = 10077
	codeNoPeers          jetstream.ErrorCode = 10005
	codeAccountLimit     jetstream.ErrorCode = 10002
	codeReplicas         jetstream.ErrorCode = 10074
	codeTooManyRequests  jetstream.ErrorCode = 10167
	codeTooManyStreams   jetstream.ErrorCode = 10027
	codeNoMemory         jetstream.ErrorCode = 10028
	codeMaxBytesRequired jetstream.ErrorCode = 10113
	codeNotUnique        jetstream.ErrorCode = 10100
)

// explain wraps err with what was being done, what it means and what to do.
func explain(what string, err error) error {
	help, kind := meaning(err)
	if kind == nil {
		return fmt.Errorf("durable: %s: %w", what, err)
	}
	return &failure{what, kind, err, help}
}

// meaning returns which error of this package err corresponds to, nil if none, and what to do.
func meaning(err error) (help string, kind error) {
	if code := apiCode(err); code != 0 {
		switch code {
		case codeInsufficientResources, codeStorageExceeded, codeAccountLimit, codeNoMemory:
			return "free disk space, or raise the server's max_file_store, max_memory_store or the account's limits", ErrFull
		case jetstream.JSErrCodeMaximumConsumersLimit, codeTooManyStreams:
			return "raise the account's max_streams or max_consumers: a queue needs 1 stream with 4 consumers", ErrFull
		case codeMaxBytesRequired:
			return "remove max_bytes_required from the account's limits: a queue must have no limit of size, which would discard jobs", ErrRefused
		case codeNotUnique:
			return "if the queue was just deleted, open it again in half a minute; else delete the consumer that is not the queue's", ErrOtherConfig
		case codeStoreFailed:
			return "the server could not write: its disk is full or broken, look at its log", ErrFull
		case jetstream.JSErrCodeStreamMessageExceedsMaximum:
			return "raise the stream's maximum message size, or store the data elsewhere and put a reference", ErrTooLarge
		case codeReplicas:
			return "Config.Replicas above 1 needs a cluster", ErrRefused
		case codeNoPeers:
			return "the cluster has fewer servers with room than Config.Replicas, which is 3 on a cluster by default", ErrFull
		case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
			return "start the server with JetStream (nats-server -js) and allow it for the account", ErrRefused
		}
		if !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, jetstream.ErrConsumerDoesNotExist) && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return "", nil
		}
	}
	switch {
	case isAuthorization(err):
		return "check user, password, token or credentials of the connection", ErrRefused
	case errors.Is(err, nats.ErrPermissionViolation):
		return "docs/durable.md lists the permissions that a user needs", ErrRefused
	case errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted):
		return "use a tls:// URL or nats.Secure if the server has TLS, and neither if it has not", ErrRefused
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, jetstream.ErrConnectionClosed):
		return "", ErrClosed
	case errors.Is(err, nats.ErrMaxPayload):
		return "raise the server's max_payload, or store the data elsewhere and put a reference", ErrTooLarge
	case errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, jetstream.ErrConsumerNotFound),
		errors.Is(err, jetstream.ErrConsumerDoesNotExist), errors.Is(err, jetstream.ErrStreamNotFound):
		return "open the queue again to create it", ErrGone
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return "JetStream does not respond: is it enabled (nats-server -js), and is a majority of the cluster running?", ErrUnreachable
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, context.DeadlineExceeded):
		return "is the server running, or a majority of the cluster?", ErrUnreachable
	}
	return "", nil
}

// means reports whether err corresponds to the error of this package.
func means(err, kind error) bool {
	_, is := meaning(err)
	return is == kind
}

// isAuthorization reports whether the server has refused the credentials.
func isAuthorization(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) ||
		errors.Is(err, nats.ErrAccountAuthExpired)
}

// transient reports whether a request that failed with err may succeed when it is repeated.
func transient(err error) bool {
	switch e, is := errors.AsType[*jetstream.APIError](err); {
	case !is:
		return means(err, ErrUnreachable)
	case e.Code >= 500: // no leader, temporarily unavailable
		return true
	default:
		return slices.Contains([]jetstream.ErrorCode{codeInsufficientResources, codeStorageExceeded, codeStoreFailed, codeTooManyRequests,
			jetstream.JSErrCodeStreamWrongLastSequenceConstant}, e.ErrorCode)
	}
}

// apiCode returns the server's code of an error, 0 if it has none.
func apiCode(err error) jetstream.ErrorCode {
	if e, is := errors.AsType[*jetstream.APIError](err); is {
		return e.ErrorCode
	}
	return 0
}
