package oauth_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/oauth"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

var renewal = retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Equal), retry.AttemptTimeout(30*time.Second))

// world is an authorization server and an MCP server behind its tokens. Tokens last an hour. A refresh token can be used
// once: a second use logs the user out. A session lasts until forget is called. Each response takes 50 ms.
type world struct {
	mu                           sync.Mutex
	refresh                      string // the valid one
	token, session               string
	expires                      time.Time
	refreshes, sessions, refused int
	loggedOut                    bool
	fail                         int // so many refreshes fail
}

func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session = "forgotten"
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	select {
	case <-time.After(50 * time.Millisecond):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	respond := func(status int, text string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
	if r.URL.Path == "/token" {
		if w.fail > 0 {
			w.fail--
			return respond(http.StatusServiceUnavailable, "")
		}
		if !strings.Contains(string(body), "refresh_token="+w.refresh) {
			w.loggedOut = true
			return respond(http.StatusBadRequest, `{"error":"invalid_grant"}`)
		}
		w.refreshes++
		w.refresh, w.token, w.expires = fmt.Sprint("refresh", w.refreshes, "x"), fmt.Sprint("access", w.refreshes), time.Now().Add(time.Hour)
		return respond(http.StatusOK, fmt.Sprintf(`{"access_token":%q,"refresh_token":%q,"expires_in":3600}`, w.token, w.refresh))
	}
	switch {
	case r.Header.Get("Authorization") != "Bearer "+w.token || time.Now().After(w.expires):
		w.refused++
		return respond(http.StatusUnauthorized, "")
	case string(body) == "initialize":
		w.sessions++
		w.session = fmt.Sprint("session", w.sessions)
		response, err := respond(http.StatusOK, "{}")
		response.Header.Set("Mcp-Session-Id", w.session)
		return response, err
	case r.Header.Get("Mcp-Session-Id") != w.session:
		return respond(http.StatusNotFound, "")
	}
	return respond(http.StatusOK, "done: "+string(body))
}

// start returns a client of the world, and what closes it.
func start(w *world) (*http.Client, func()) {
	w.refresh = "refresh0x"
	stored := w.refresh
	tokens := oauth.Server{
		URL: "http://auth/token", ClientID: "me", HTTP: &http.Client{Transport: w},
		Load:  func(context.Context) (string, error) { return stored, nil },
		Store: func(_ context.Context, refresh string) error { stored = refresh; return nil },
	}.Tokens(renewal)
	authorized := oauth.WithToken(w, tokens)
	sessions := oauth.Sessions(authorized, "http://mcp/", "initialize", renewal)
	return &http.Client{Transport: oauth.WithSession(authorized, sessions)}, func() { sessions.Close(); tokens.Close() }
}

func call(ctx context.Context, client *http.Client) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://mcp/", strings.NewReader("call"))
	if err != nil {
		return err
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "done: call" {
		return fmt.Errorf("%d %q, %w", response.StatusCode, body, err)
	}
	return nil
}

// A hundred callers for ten hours, a third of whom leave early, and a session that is forgotten each hour: a refresh for
// each hour, a session for each that was forgotten, and the user stays logged in.
func TestMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{fail: 3}
		client, closeAll := start(w)
		var callers sync.WaitGroup
		failed, calls := 0, 0
		var mu sync.Mutex
		begin := time.Now()
		for i := range 100 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * 37 * time.Millisecond)
				for time.Since(begin) < 10*time.Hour {
					ctx, leave := t.Context(), context.CancelFunc(func() {})
					if i%3 == 0 {
						ctx, leave = context.WithTimeout(ctx, 100*time.Millisecond)
					}
					err := call(ctx, client)
					leave()
					mu.Lock()
					if calls++; err != nil && i%3 != 0 {
						failed++
						t.Error(err)
					}
					mu.Unlock()
					time.Sleep(time.Minute)
				}
			})
		}
		callers.Go(func() {
			for range 9 {
				time.Sleep(time.Hour + time.Second)
				w.forget()
			}
		})
		callers.Wait()
		closeAll()
		if w.loggedOut || w.refreshes < 10 || w.refreshes > 11 || w.sessions < 10 || w.sessions > 11 || w.refused > calls/100 {
			t.Errorf("%d calls, %d failed, %d refreshes, %d sessions, %d refused, logged out: %t", calls, failed, w.refreshes, w.sessions, w.refused, w.loggedOut)
		}
	})
}

// A token that was revoked is renewed once, for all who meet its 401.
func TestRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		client, closeAll := start(w)
		defer closeAll()
		check.Must(t, call(t.Context(), client))
		w.mu.Lock()
		w.token = "revoked"
		w.mu.Unlock()
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				if err := call(t.Context(), client); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if w.refreshes != 2 || w.sessions != 1 {
			t.Errorf("%d refreshes, %d sessions", w.refreshes, w.sessions)
		}
	})
}

// A refresh token that is refused is asked for once, and each caller is told.
func TestLoggedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		client, closeAll := start(w)
		defer closeAll()
		w.refresh = "another"
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				ctx, leave := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer leave()
				if err := call(ctx, client); !oauth.LoggedOut(err) {
					t.Errorf("not logged out: %v", err)
				}
			})
		}
		callers.Wait()
	})
}
