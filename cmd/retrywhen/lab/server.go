package lab

import (
	"context"
	"encoding/json"
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
	mux.Handle("GET /api/defaults", s.numbers(func(ctx context.Context, _ State, _ []Problem) (any, error) { return defaults(ctx) }, true))
	mux.Handle("GET /api/state", s.numbers(func(ctx context.Context, state State, p []Problem) (any, error) { return describe(ctx, state, p) }, true))
	mux.Handle("GET /api/herd", s.numbers(func(ctx context.Context, state State, _ []Problem) (any, error) { return ComputeHerd(ctx, state) }, false))
	mux.Handle("GET /api/contention", s.numbers(func(ctx context.Context, state State, _ []Problem) (any, error) { return ComputeContention(ctx, state) }, false))
	mux.Handle("GET /api/outage", s.numbers(func(ctx context.Context, state State, _ []Problem) (any, error) { return ComputeOutage(ctx, state) }, false))
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
			refuse(w, http.StatusMisdirectedRequest, fmt.Sprintf("the host is %q, want %s", r.Host, strings.Join(s.hosts, " or ")))
		case !s.ours(r.Header["Origin"]):
			refuse(w, http.StatusForbidden, fmt.Sprintf("the origin is %q, want this page's", r.Header.Get("Origin")))
		case strings.HasPrefix(r.URL.Path, "/api/") && !sameSite(r.Header.Get("Sec-Fetch-Site")):
			refuse(w, http.StatusForbidden, "the request is another site's")
		case len(r.URL.RawQuery) > maxQuery:
			refuse(w, http.StatusRequestURITooLong, fmt.Sprintf("the query has %d letters, want at most %d", len(r.URL.RawQuery), maxQuery))
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

// numbers serves what compute makes of the state in the query. It refuses a query with a problem, unless lenient.
func (s *server) numbers(compute func(context.Context, State, []Problem) (any, error), lenient bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			refuse(w, http.StatusBadRequest, "the query cannot be read: "+err.Error())
			return
		}
		state, problems := ParseState(query)
		if i := slices.IndexFunc(problems, func(p Problem) bool { return !p.Unknown }); i >= 0 && !lenient {
			refuse(w, http.StatusBadRequest, problems[i].Message)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), maxWork)
		defer cancel()
		select {
		case s.turns <- struct{}{}:
			defer func() { <-s.turns }()
		case <-ctx.Done():
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, "too much is being computed already")
			return
		}
		result, err := compute(ctx, state, problems)
		if err != nil {
			refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("it took longer than %v; ask for less: %v", maxWork, err))
			return
		}
		write(w, http.StatusOK, result)
	})
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
	_, _ = w.Write(body) // the client has gone
}

// described is a state as the page's controls want it.
type described struct {
	Query      string            `json:"query"`
	Fields     map[string]string `json:"fields"`
	Strategies []model.Strategy  `json:"strategies"`
	Problems   []Problem         `json:"problems,omitempty"` // of the address: what of it is not in the state
}

func describe(ctx context.Context, s State, problems []Problem) (described, error) {
	s, err := s.fix(ctx)
	d := described{s.Query().Encode(), map[string]string{}, s.Strategies, problems}
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
	state, err := describe(ctx, Default(), nil)
	if err != nil {
		return describedDefaults{}, err
	}
	d := describedDefaults{described: state, Most: map[string]int{
		"jobs": MaxJobs, "retries": MaxRetries, "clients": MaxClients, "runs": MaxRuns, "affected": MaxAffected, "capacity": MaxCapacity,
	}}
	d.Fields["peak"], d.Fields["dead"] = "0s", "0s" // they fit the default strategies alone
	for _, p := range Presets() {
		state, err := describe(ctx, p.State, nil)
		if err != nil {
			return describedDefaults{}, err
		}
		d.Presets = append(d.Presets, describedPreset{p.Name, state.Query})
	}
	return d, nil
}
