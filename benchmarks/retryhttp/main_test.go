package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// retryhttp behaves in the scenarios as its documentation says.
func TestOurs(t *testing.T) {
	want := map[string]string{
		"GET, 501 twice":                            "501, \"status 501\"; 1 sent",
		"GET, 503 forever":                          "503, \"status 503\"; 5 sent, 1 conns",
		"GET, cut forever":                          "error: Get \"http://…\": retry: limit of 4 retries: 5 failures",
		"GET, nobody listens":                       "error: Get \"http://…\": retry: limit of 4 retries: 5 failures",
		"PUT of a stream, 503 twice":                "503, \"status 503\"; 1 sent",
		"POST, 500 twice":                           "500, \"status 500\"; 1 sent",
		"POST, carried out, then cut":               "error: Post \"http://…\": EOF; 1 sent",
		"Retry-After: 0, forever":                   "503, \"status 503\"; 5 sent, 1 conns",
		"Retry-After: 1 on a 500":                   "200, \"done, 0 bytes came\"; 2 sent, 1 conns",
		"Retry-After: 3600, deadline 1 s":           "503, \"status 503\"; 1 sent, 1 conns",
		"Retry-After: 99999999999, deadline 1 s":    "503, \"status 503\"; 1 sent, 1 conns",
		"Retry-After: 3600, cancelled after 300 ms": "canceled; 1 sent",
	}
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			prefix, ok := want[s.name]
			if !ok {
				prefix = "200, \"done, "
			}
			if got := s.run(ours); !strings.HasPrefix(got, prefix) {
				t.Errorf("got %s, want %s", got, prefix)
			}
		})
	}
}

// BenchmarkNoFailure measures the cost for a request that succeeds at once, on a base that does almost nothing.
func BenchmarkNoFailure(b *testing.B) {
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
	})
	req := must(http.NewRequest("GET", "http://example.test/", nil))
	for name, transport := range map[string]http.RoundTripper{"base": base, "retryhttp": ours(base), "go-retryablehttp": hashicorp(base), "failsafe-go": failsafe(base)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				resp, err := transport.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}

func must(r *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	return r
}
