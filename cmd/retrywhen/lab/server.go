package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
)

const (
	maxQuery    = 8 << 10         // letters of a query
	maxTogether = 2               // requests whose numbers are computed at the same time
	maxWork     = 8 * time.Second // for one of them
)

// Handler serves the page under these hosts, as in "127.0.0.1:8080", and no others: a page elsewhere cannot reach it under
// a name of its own (DNS rebinding), nor by its own requests (the Origin). One request's work is bounded by the limits of
// a State, by time, and by how many are computed at once.
func Handler(hosts ...string) http.Handler {
	s := &server{hosts: hosts, turns: make(chan struct{}, maxTogether)}
	mux := http.NewServeMux()
	mux.Handle("GET /api/defaults", s.numbers(func(ctx context.Context, _ State) (any, error) { return defaults(ctx) }))
	mux.Handle("GET /api/state", s.numbers(func(ctx context.Context, state State) (any, error) { return describe(ctx, state) }))
	mux.Handle("GET /api/herd", s.numbers(func(ctx context.Context, state State) (any, error) { return ComputeHerd(ctx, state) }))
	mux.Handle("GET /api/contention", s.numbers(func(ctx context.Context, state State) (any, error) { return ComputeContention(ctx, state) }))
	mux.Handle("GET /api/outage", s.numbers(func(ctx context.Context, state State) (any, error) { return ComputeOutage(ctx, state) }))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, assets, "index.html") })
	for _, name := range []string{"app.js", "app.css", "app.licenses.txt"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, assets, name) })
	}
	return s.guard(mux)
}

type server struct {
	hosts []string
	turns chan struct{}
}

// guard refuses requests under other hosts and from other pages, and sets what the page may do.
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
			refuse(w, http.StatusMisdirectedRequest, fmt.Sprintf("the host is %q, want %s", r.Host, strings.Join(s.hosts, " or ")), "")
		case !s.ours(r.Header["Origin"]):
			refuse(w, http.StatusForbidden, fmt.Sprintf("the origin is %q, want this page's", r.Header.Get("Origin")), "")
		case strings.HasPrefix(r.URL.Path, "/api/") && !sameSite(r.Header.Get("Sec-Fetch-Site")):
			refuse(w, http.StatusForbidden, "the request is another site's", "")
		case len(r.URL.RawQuery) > maxQuery:
			refuse(w, http.StatusRequestURITooLong, fmt.Sprintf("the query has %d letters, want at most %d", len(r.URL.RawQuery), maxQuery), "")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ours reports whether the origins, if there are any, are of this page.
func (s *server) ours(origins []string) bool {
	for _, o := range origins {
		host, ok := strings.CutPrefix(strings.ToLower(o), "http://")
		if !ok || !slices.Contains(s.hosts, host) {
			return false
		}
	}
	return true
}

// sameSite reports whether the browser, if it names the site, sends the request for this page or for its user.
func sameSite(site string) bool { return site == "" || site == "same-origin" || site == "none" }

// numbers serves what compute makes of the state in the query.
func (s *server) numbers(compute func(context.Context, State) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			refuse(w, http.StatusBadRequest, "the query cannot be read: "+err.Error(), "")
			return
		}
		state, err := ParseState(query)
		if err != nil {
			name := "s" // a strategy's error is of another type
			if p, ok := errors.AsType[*ParameterError](err); ok {
				name = p.Name
			}
			refuse(w, http.StatusBadRequest, err.Error(), name)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), maxWork)
		defer cancel()
		select {
		case s.turns <- struct{}{}:
			defer func() { <-s.turns }()
		case <-ctx.Done():
			refuse(w, http.StatusServiceUnavailable, "too much is being computed already; try again", "")
			return
		}
		result, err := compute(ctx, state)
		if err != nil {
			refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("it took longer than %v; ask for less: %v", maxWork, err), "")
			return
		}
		write(w, http.StatusOK, result)
	})
}

func refuse(w http.ResponseWriter, code int, message, parameter string) {
	write(w, code, struct {
		Error     string `json:"error"`
		Parameter string `json:"parameter,omitempty"`
	}{message, parameter})
}

func write(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		code, body = http.StatusInternalServerError, []byte(`{"error":`+strconv.Quote(err.Error())+`}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client has gone
}

// described is a state as the page's controls want it.
type described struct {
	Query      string            `json:"query"`
	Fields     map[string]string `json:"fields"`
	Strategies []model.Strategy  `json:"strategies"`
}

func describe(ctx context.Context, s State) (described, error) {
	s, err := s.fix(ctx)
	d := described{s.Query().Encode(), map[string]string{}, s.Strategies}
	for _, f := range fields {
		d.Fields[f.name] = f.text(&s)
	}
	return d, err
}

// describedDefaults are what the controls show at first, and what else they need.
type describedDefaults struct {
	described
	Most    map[string]int    `json:"most"`
	Presets []describedPreset `json:"presets"`
}

type describedPreset struct {
	Name  string `json:"name"`
	Query string `json:"query"`
}

func defaults(ctx context.Context) (describedDefaults, error) {
	state, err := describe(ctx, Default())
	if err != nil {
		return describedDefaults{}, err
	}
	d := describedDefaults{described: state, Most: map[string]int{
		"jobs": MaxJobs, "retries": MaxRetries, "clients": MaxClients, "runs": MaxRuns, "affected": MaxAffected, "capacity": MaxCapacity,
	}}
	d.Fields["peak"], d.Fields["dead"] = "0s", "0s" // they fit the default strategies alone
	for _, p := range Presets() {
		state, err := describe(ctx, p.State)
		if err != nil {
			return describedDefaults{}, err
		}
		d.Presets = append(d.Presets, describedPreset{p.Name, state.Query})
	}
	return d, nil
}
