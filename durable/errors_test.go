package durable

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error // nil for none of this package's
	}{
		{jetstream.ErrConsumerNotFound, ErrGone},
		{jetstream.ErrConsumerDeleted, ErrGone},
		{jetstream.ErrStreamNotFound, ErrGone},
		{nats.ErrAuthorization, ErrRefused},
		{nats.ErrAuthExpired, ErrRefused},
		{nats.ErrAuthRevoked, ErrRefused},
		{nats.ErrAccountAuthExpired, ErrRefused},
		{nats.ErrPermissionViolation, ErrRefused},
		{nats.ErrSecureConnRequired, ErrRefused},
		{jetstream.ErrJetStreamNotEnabled, ErrRefused},
		{nats.ErrConnectionClosed, ErrClosed},
		{nats.ErrMaxPayload, ErrTooLarge},
		{nats.ErrNoResponders, ErrUnreachable},
		{nats.ErrTimeout, ErrUnreachable},
		{errors.New("odd"), nil},
	} {
		got := explain("put", c.err)
		if !errors.Is(got, c.err) || c.want != nil && !errors.Is(got, c.want) || !strings.HasPrefix(got.Error(), "durable: put: ") {
			t.Errorf("%v: got %v, want an error that matches it and %v", c.err, got, c.want)
		}
	}
}

func TestTransient(t *testing.T) {
	api := func(code int, errorCode jetstream.ErrorCode) error {
		return fmt.Errorf("publish: %w", &jetstream.APIError{Code: code, ErrorCode: errorCode})
	}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"too many requests", api(429, 10167), true},
		{"the first part of a batch was lost", api(400, 10176), true},
		{"too many batches", api(429, 10210), true},
		{"no leader", api(503, 10008), true},
		{"no room", api(503, 10023), true},
		{"another write is under way", api(400, 10164), true},
		{"a wrong sequence", api(400, 10071), false},
		{"a bad request", api(400, 10003), false},
		{"no connection", nats.ErrReconnectBufExceeded, true},
		{"no response", nats.ErrTimeout, true},
		{"refused", nats.ErrAuthorization, false},
		{"closed", nats.ErrConnectionClosed, false},
		{"anything else", errors.New("no"), false},
	} {
		if got := transient(c.err); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
