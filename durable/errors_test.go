package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The codes that can be tried again whatever their class, the classes, and other errors.
func TestTransient(t *testing.T) {
	for code, want := range map[jetstream.ErrorCode]bool{10023: true, 10047: true, 10077: true, 10167: true, 10164: true, 10071: false, 10002: false} {
		if got := transient(fmt.Errorf("publish: %w", &jetstream.APIError{Code: 400, ErrorCode: code})); got != want {
			t.Errorf("%d: got %t, want %t", code, got, want)
		}
	}
	for class, want := range map[int]bool{400: false, 499: false, 500: true, 503: true} {
		if got := transient(&jetstream.APIError{Code: class, ErrorCode: 1}); got != want {
			t.Errorf("class %d: got %t, want %t", class, got, want)
		}
	}
	for err, want := range map[error]bool{nats.ErrReconnectBufExceeded: true, nats.ErrTimeout: true, nats.ErrAuthorization: false, nats.ErrConnectionClosed: false,
		errors.New("no"): false, jetstream.ErrStreamNotFound: false} {
		if got := transient(err); got != want {
			t.Errorf("%v: got %t, want %t", err, got, want)
		}
	}
	if apiCode(jetstream.ErrStreamNotFound) != jetstream.JSErrCodeStreamNotFound || apiCode(nats.ErrTimeout) != 0 {
		t.Error("the code of a named error is not found")
	}
}

// What each error of the server means, and what to do.
func TestMeaning(t *testing.T) {
	api := func(code jetstream.ErrorCode) error { return &jetstream.APIError{Code: 400, ErrorCode: code} }
	for _, c := range []struct {
		err  error
		want error
		help string
	}{
		{api(10023), ErrFull, "free disk space"},
		{api(10047), ErrFull, "free disk space"},
		{api(10002), ErrFull, "free disk space"},
		{api(10028), ErrFull, "max_memory_store"},
		{api(10026), ErrFull, "raise the account's max_streams or max_consumers: a queue needs 1 stream with 4 consumers"},
		{api(10027), ErrFull, "raise the account's max_streams or max_consumers: a queue needs 1 stream with 4 consumers"},
		{api(10113), ErrRefused, "remove max_bytes_required"},
		{api(10100), ErrOtherConfig, "delete the consumer"},
		{api(10077), ErrFull, "the server could not write"},
		{api(10054), ErrTooLarge, "raise the stream's maximum message size"},
		{api(10074), ErrRefused, "Config.Replicas above 1 needs a cluster"},
		{api(10005), ErrFull, "the cluster has fewer servers"},
		{api(10076), ErrRefused, "start the server with JetStream"},
		{api(10039), ErrRefused, "start the server with JetStream"},
		{api(10071), nil, ""},
		{errors.Join(nats.ErrTimeout, api(10071)), nil, ""}, // the server's code counts
		{jetstream.ErrStreamNotFound, ErrGone, "open the queue again"},
		{jetstream.ErrConsumerNotFound, ErrGone, "open the queue again"},
		{jetstream.ErrConsumerDeleted, ErrGone, "open the queue again"},
		{jetstream.ErrConsumerDoesNotExist, ErrGone, "open the queue again"},
		{jetstream.ErrJetStreamNotEnabled, ErrRefused, "start the server with JetStream"},
		{jetstream.ErrJetStreamNotEnabledForAccount, ErrRefused, "start the server with JetStream"},
		{nats.ErrAuthorization, ErrRefused, "check user"},
		{nats.ErrAuthExpired, ErrRefused, "check user"},
		{nats.ErrAuthRevoked, ErrRefused, "check user"},
		{nats.ErrAccountAuthExpired, ErrRefused, "check user"},
		{nats.ErrPermissionViolation, ErrRefused, "lists the permissions"},
		{nats.ErrSecureConnRequired, ErrRefused, "tls://"},
		{nats.ErrSecureConnWanted, ErrRefused, "tls://"},
		{nats.ErrConnectionClosed, ErrClosed, ""},
		{jetstream.ErrConnectionClosed, ErrClosed, ""},
		{nats.ErrMaxPayload, ErrTooLarge, "max_payload"},
		{nats.ErrNoResponders, ErrUnreachable, "JetStream does not respond"},
		{jetstream.ErrNoStreamResponse, ErrUnreachable, "JetStream does not respond"},
		{nats.ErrNoServers, ErrUnreachable, "is the server running"},
		{nats.ErrTimeout, ErrUnreachable, "is the server running"},
		{nats.ErrDisconnected, ErrUnreachable, "is the server running"},
		{nats.ErrReconnectBufExceeded, ErrUnreachable, "is the server running"},
		{context.DeadlineExceeded, ErrUnreachable, "is the server running"},
		{errors.New("odd"), nil, ""},
	} {
		if help, kind := meaning(fmt.Errorf("x: %w", c.err)); kind != c.want || !strings.Contains(help, c.help) || (help == "") != (c.help == "") {
			t.Errorf("%v: got %v, %q, want %v, %q", c.err, kind, help, c.want, c.help)
		}
	}
}

func TestErrors_Text(t *testing.T) {
	cause := errors.New("cause")
	for want, err := range map[string]*failure{
		"durable: put: the queue is closed":              {"put", ErrClosed, nil, ""},
		"durable: put: the queue is closed: cause":       {"put", ErrClosed, cause, ""},
		"durable: put: the queue is closed: help":        {"put", ErrClosed, nil, "help"},
		"durable: put: the queue is closed: cause: help": {"put", ErrClosed, cause, "help"},
	} {
		if err.Error() != want || !errors.Is(err, ErrClosed) || errors.Is(err, cause) != (err.cause != nil) {
			t.Errorf("got %q, want %q", err, want)
		}
		for _, e := range err.Unwrap() {
			if e == nil {
				t.Errorf("%q unwraps to nil", want)
			}
		}
	}
	if err := (&PanicError{cause, []byte("stack")}); !errors.Is(err, cause) || err.Error() != "panic: cause\n\nstack" {
		t.Errorf("got %q", err)
	}
	if err := (&PanicError{"text", nil}); err.Unwrap() != nil {
		t.Errorf("got %v", err.Unwrap())
	}
}
