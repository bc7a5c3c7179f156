package durable

import (
	"errors"
	"strings"
	"testing"
)

// The forms in which nats.go takes a password or a token.
func TestNoErrorOfOpenShowsASecret(t *testing.T) {
	const host = "127.0.0.1:1" // nobody listens there
	for _, c := range []struct{ name, url string }{
		{"user and password", "nats://user:s3cret@" + host},
		{"user and password without a scheme", "user:s3cret@" + host},
		{"a token", "nats://s3cret@" + host},
		{"a token without a scheme", "s3cret@" + host},
		{"the second entry", "nats://" + host + ", other:s3cret@" + host},
		{"an encoded @", "nats://user:s3cret%40s3cret@" + host},
	} {
		_, err := Open(t.Context(), Config{URL: c.url, Name: "q"})
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), host) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want ErrUnreachable with the host and without the secret", c.name, err)
		}
	}
	for _, c := range []struct{ name, url string }{
		{"an invalid escape", "nats://user:s3cret%zz@" + host},
		{"a space", "nats://user:s3 cret@" + host},
		{"a comma", "nats://user:s3,s3cret@" + host},
		{"a # in the password", "nats://user:4222#s3cret@" + host},
		{"a / in the password", "nats://user:4222/s3cret@" + host},
		{"no host", "nats://user:s3cret@"},
	} {
		_, err := Open(t.Context(), Config{URL: "n1:4222," + c.url, Name: "q"})
		if err == nil || !strings.Contains(err.Error(), "entry 2 of") || strings.Contains(err.Error(), "s3") {
			t.Errorf("%s: got %v, want an error that names the entry and shows nothing of it", c.name, err)
		}
	}
}

func TestRedact(t *testing.T) {
	for url, want := range map[string]string{
		"nats://user:pw@host:4222":              "host:4222",
		"nats://TOKEN@a:1,tls://b:2,me:p@q@c:3": "a:1,tls://b:2,c:3",
		"host":                                  "host",
		"":                                      "",
	} {
		if got := redact(url); got != want {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
	}
}
