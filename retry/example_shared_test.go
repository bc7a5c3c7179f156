package retry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// opening is a policy for what many share: no limit, because each caller's patience is its context's deadline, and an
// AttemptTimeout, because nothing else ends an open that hangs.
var opening = retry.New(backoff.Exponential(50*time.Millisecond, 2).Cap(time.Minute).Jitter(jitter.Default), retry.AttemptTimeout(10*time.Second))

var errUnauthorized = errors.New("401 Unauthorized")

// authServer is a server of tokens. A refresh token can be used once: the second use logs the user out.
type authServer struct {
	mu        sync.Mutex
	refreshes int
	used      map[string]bool
	valid     string // the access token
}

func (s *authServer) refresh(token string) (access, next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[token] {
		return "", "", retry.Permanent(errors.New("logged out: the refresh token was used twice"))
	}
	s.used[token] = true
	s.refreshes++
	s.valid = fmt.Sprint("access ", s.refreshes)
	return s.valid, fmt.Sprint("refresh ", s.refreshes), nil
}

func (s *authServer) get(access string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if access != s.valid {
		return errUnauthorized
	}
	return nil
}

func (s *authServer) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.valid = "another"
}

// A token with rotation: 100 callers whose token has expired refresh it once.
func ExampleShared() {
	server := &authServer{used: map[string]bool{}}
	refreshToken := "refresh 0" // one open runs at a time, so it needs no lock
	token := retry.NewShared(opening, func(context.Context) (string, error) {
		access, next, err := server.refresh(refreshToken)
		if err == nil {
			refreshToken = next
		}
		return access, err
	})
	defer token.Close()
	get := func(ctx context.Context) error {
		return token.Do(ctx, func(_ context.Context, access string) error {
			err := server.get(access)
			if errors.Is(err, errUnauthorized) {
				return token.Broken(err) // a 403 would be the caller's own, and no reason to refresh
			}
			return err
		})
	}
	var group sync.WaitGroup
	for range 2 {
		for range 100 {
			group.Go(func() {
				if err := get(context.Background()); err != nil {
					fmt.Println(err)
				}
			})
		}
		group.Wait()
		server.expire()
	}
	fmt.Println("refreshes:", server.refreshes)
	// Output: refreshes: 2
}

// The token is renewed a minute before it expires; meanwhile callers use the old one.
func ExampleShared_RenewAt() {
	type accessToken struct {
		text    string
		expires time.Time
	}
	n := 0
	token := retry.NewShared(opening, func(context.Context) (accessToken, error) {
		n++
		return accessToken{fmt.Sprint("token ", n), time.Now().Add(time.Hour)}, nil
	}).RenewAt(func(t accessToken) time.Time { return t.expires.Add(-time.Minute) })
	err := token.Do(context.Background(), func(_ context.Context, t accessToken) error {
		fmt.Println(t.text)
		return nil
	})
	fmt.Println(err)
	token.Close()
	err = token.Do(context.Background(), func(context.Context, accessToken) error { return nil })
	fmt.Println(err == retry.ErrClosed)
	// Output:
	// token 1
	// <nil>
	// true
}

// A session over a token: a 404 breaks the session, a 401 the token alone.
func ExampleShared_Broken() {
	var (
		errNoSession = errors.New("404 session not found")
		requests     = []error{nil, errUnauthorized, nil, errNoSession, nil} // what the server responds
		tokens       = 0
		sessions     = 0
	)
	token := retry.NewShared(opening, func(context.Context) (int, error) { tokens++; return tokens, nil })
	send := func(ctx context.Context, session int) error { // one request with the token
		return token.Do(ctx, func(_ context.Context, t int) error {
			err := requests[0]
			requests = requests[1:]
			fmt.Printf("session %d, token %d: %v\n", session, t, err)
			if errors.Is(err, errUnauthorized) {
				return token.Broken(err)
			}
			return err
		})
	}
	session := retry.NewShared(opening, func(context.Context) (int, error) { sessions++; return sessions, nil })
	call := func(ctx context.Context) error {
		return session.Do(ctx, func(ctx context.Context, id int) error {
			err := send(ctx, id)
			if errors.Is(err, errNoSession) {
				return session.Broken(err)
			}
			return err
		})
	}
	for range 3 {
		fmt.Println(call(context.Background()))
	}
	session.Close()
	token.Close()
	// Output:
	// session 1, token 1: <nil>
	// <nil>
	// session 1, token 1: 401 Unauthorized
	// session 1, token 2: <nil>
	// <nil>
	// session 1, token 2: 404 session not found
	// session 2, token 2: <nil>
	// <nil>
}

// connection is a connection of a broker, with its log.
type connection struct {
	log    *[]string
	breaks int // after so many values
}

func (c *connection) Close() { fmt.Println("closed") }

func (c *connection) publish(text string) { *c.log = append(*c.log, text) }

func (c *connection) consume(at int, yield func(string) bool) error {
	for i, text := range (*c.log)[at:] {
		if i == c.breaks {
			return errors.New("connection reset")
		}
		if !yield(text) {
			return nil
		}
	}
	return nil
}

// One connection for publishers, which use Do, and for a consumer that resumes: it uses Try, because a second call
// inside one attempt would begin at the attempt's old position.
func ExampleShared_Try() {
	var log []string
	dials := 0
	conns := retry.NewShared(opening, func(context.Context) (*connection, error) { // a real one binds it to the context
		dials++
		return &connection{&log, 2 * dials}, nil
	}).CloseWith((*connection).Close)

	publish := func(ctx context.Context, text string) error {
		return conns.Do(ctx, func(_ context.Context, c *connection) error { c.publish(text); return nil })
	}
	consume := operators.Resume(0,
		func(at int) stream.Stream[string] {
			return func(ctx context.Context, yield func(string) bool) error {
				return conns.Try(ctx, func(ctx context.Context, c *connection) error {
					err := c.consume(at, yield)
					if ctx.Err() != nil {
						return err // the consumer has left: the connection is not broken
					}
					return conns.Broken(err)
				})
			}
		},
		func(at int, _ string) int { return at + 1 },
		retry.New(backoff.Constant(0), retry.ResetAfterItems(1)))

	ctx := context.Background()
	for _, text := range []string{"a", "b", "c", "d"} {
		_ = publish(ctx, text)
	}
	err := consume.ForEach(ctx, func(text string) { fmt.Println(text) })
	fmt.Println(err, dials)
	conns.Close()
	// Output:
	// a
	// b
	// closed
	// c
	// d
	// <nil> 2
	// closed
}
