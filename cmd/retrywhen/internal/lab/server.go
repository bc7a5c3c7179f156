//go:build !js

package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxTogether is the maximum number of requests that are computed at the same time.
const maxTogether = 2

// Handler returns the handler of the page. It serves only the given hosts, as in "127.0.0.1:8080", and only requests of
// the page itself: it refuses other host names (DNS rebinding) and other origins. The limits of a State, a timeout and
// a maximum number of simultaneous computations bound the work.
func Handler(hosts ...string) http.Handler {
	return handler(maxWork, hosts...)
}

func handler(work time.Duration, hosts ...string) http.Handler {
	s := &server{hosts: hosts, work: work, turns: make(chan struct{}, maxTogether)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/{kind}", s.numbers)
	mux.HandleFunc("GET /{$}", servePage(whole))
	mux.HandleFunc("GET /"+alonePage, servePage(alone))
	for _, name := range []string{"app.js", "app.css", "app.licenses.txt"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, assets(), name) })
	}
	return s.guard(mux)
}

func servePage(page func() (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		html, err := page()
		if err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, html) // it fails only if the client has left
	}
}

type server struct {
	hosts []string
	work  time.Duration // the maximum for a request
	turns chan struct{}
}

// guard refuses requests to other hosts and from other pages, and sets the page's security headers.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		switch {
		case !slices.Contains(s.hosts, strings.ToLower(r.Host)):
			refuse(w, http.StatusMisdirectedRequest, fmt.Sprintf("the host is %q, want %s", r.Host, strings.Join(s.hosts, " or ")))
		case !s.ours(r.Header["Origin"]):
			refuse(w, http.StatusForbidden, fmt.Sprintf("the origin is %q, want this page's", r.Header.Get("Origin")))
		case strings.HasPrefix(r.URL.Path, "/api/") && !sameSite(r.Header.Get("Sec-Fetch-Site")):
			refuse(w, http.StatusForbidden, "the request comes from another site, want this page's")
		case len(r.URL.RawQuery) > MaxQuery:
			refuse(w, http.StatusRequestURITooLong, fmt.Sprintf("the query has %d bytes, want at most %d", len(r.URL.RawQuery), MaxQuery))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ours reports whether all origins are this page's.
func (s *server) ours(origins []string) bool {
	for _, o := range origins {
		host, ok := strings.CutPrefix(strings.ToLower(o), "http://")
		if !ok || !slices.Contains(s.hosts, host) {
			return false
		}
	}
	return true
}

// sameSite reports whether the request comes from this page or from its user, or the browser does not say.
func sameSite(site string) bool { return site == "" || site == "same-origin" || site == "none" }

// numbers serves the numbers of the kind in the path, for the state in the query.
func (s *server) numbers(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := limited(r.Context(), s.work, r.PathValue("kind"))
	defer cancel()
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "too many simulations are running")
		return
	}
	result, err := Numbers(ctx, r.PathValue("kind"), r.URL.RawQuery)
	switch {
	case errors.Is(err, errNoKind):
		refuse(w, http.StatusNotFound, err.Error())
	case err != nil && ctx.Err() != nil:
		refuse(w, http.StatusServiceUnavailable, err.Error())
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
	default:
		write(w, http.StatusOK, result)
	}
}

func refuse(w http.ResponseWriter, code int, message string) {
	write(w, code, struct {
		Error string `json:"error"`
	}{message})
}

func write(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		code, body = http.StatusInternalServerError, []byte(`{"error":`+strconv.Quote(err.Error())+`}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body) // it fails only if the client has left
}
