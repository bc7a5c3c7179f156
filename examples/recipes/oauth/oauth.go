// Package oauth has an HTTP client whose requests bear a token that expires, and one whose requests bear a session over
// it, as MCP's do. Many callers share them: one renews, all others wait. A refresh token that the server rotates is used
// once.
package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// Token is an access token.
type Token struct {
	Access  string
	Expires time.Time
}

// Server is where tokens come from. Load returns the refresh token that Store has stored last.
type Server struct {
	URL, ClientID string
	HTTP          *http.Client
	Load          func(ctx context.Context) (refresh string, err error)
	Store         func(ctx context.Context, refresh string) error
}

// Tokens returns the token that all callers share. It is renewed a minute before it expires, and when it is refused. The
// policy has no Limit, because each caller's patience is its context's deadline, and an AttemptTimeout, because nothing
// else ends a refresh that hangs. A refresh token that is refused is a permanent error: the user must log in again.
func (s Server) Tokens(policy retry.Policy) *retry.Shared[Token] {
	return retry.NewShared(policy, s.refresh).RenewAt(func(t Token) time.Time { return t.Expires.Add(-time.Minute) })
}

func (s Server) refresh(ctx context.Context) (Token, error) {
	old, err := s.Load(ctx)
	if err != nil {
		return Token{}, err
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old}, "client_id": {s.ClientID}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return Token{}, retry.Permanent(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := s.HTTP.Do(request)
	if err != nil {
		return Token{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		err := retryhttp.NewStatusError(response)
		if response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusUnauthorized {
			return Token{}, retry.Permanent(err) // invalid_grant
		}
		return Token{}, err
	}
	var granted struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Seconds int    `json:"expires_in"`
	}
	if err := json.NewDecoder(response.Body).Decode(&granted); err != nil {
		return Token{}, err
	}
	if granted.Refresh != "" {
		if err := s.Store(ctx, granted.Refresh); err != nil { // before the token is used: the old one is spent
			return Token{}, err
		}
	}
	return Token{granted.Access, time.Now().Add(time.Duration(granted.Seconds) * time.Second)}, nil
}

// WithToken returns a RoundTripper that sends each request with the token, and once more after a 401. Retries stand
// above it: retryhttp.NewTransport(oauth.WithToken(nil, tokens), policy).
func WithToken(base http.RoundTripper, tokens *retry.Shared[Token]) http.RoundTripper {
	return retryhttp.WithShared(base, tokens, func(r *http.Request, t Token) { r.Header.Set("Authorization", "Bearer "+t.Access) })
}

// Sessions returns the session with an MCP server that all callers share: the id that it returns to initialize, or "".
// The base sends the token, if there is one.
func Sessions(base http.RoundTripper, server, initialize string, policy retry.Policy) *retry.Shared[string] {
	client := &http.Client{Transport: base}
	return retry.NewShared(policy, func(ctx context.Context) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(initialize))
		if err != nil {
			return "", retry.Permanent(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return "", retryhttp.NewStatusError(response)
		}
		_, err = io.Copy(io.Discard, response.Body)
		return response.Header.Get(sessionID), err
	})
}

const sessionID = "Mcp-Session-Id"

// WithSession returns a RoundTripper that sends each request with the session's id, and once more, with a new session,
// after the 404 by which an MCP server says that it has forgotten it. The request was not carried out then, so this is
// right for a POST too.
func WithSession(base http.RoundTripper, sessions *retry.Shared[string]) http.RoundTripper {
	return retryhttp.WithShared(base, sessions, func(r *http.Request, id string) {
		if id != "" {
			r.Header.Set(sessionID, id)
		}
	}, http.StatusNotFound)
}

// LoggedOut reports whether an error of a request means that the user must log in again.
func LoggedOut(err error) bool {
	var status *retryhttp.StatusError
	return errors.As(err, &status) && (status.StatusCode == http.StatusBadRequest || status.StatusCode == http.StatusUnauthorized)
}
