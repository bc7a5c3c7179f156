package retryhttp_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

func TestRateLimitHeaders(t *testing.T) {
	in := func(d time.Duration) time.Time { return time.Now().Add(d).UTC() }
	lines := func(l ...string) func() []string { return func() []string { return l } }
	for _, c := range []struct {
		name   string
		header func() []string
		want   string
	}{
		{"none", lines("A: b"), "0s 1s"},
		{"milliseconds", lines("Retry-After-Ms: 1500"), "0s 1.5s"},
		{"a fraction of a millisecond", lines("retry-after-ms: 1500.25"), "0s 1.50025s"},
		{"Azure's", lines("x-ms-retry-after-ms: 2500"), "0s 2.5s"},
		{"milliseconds first", lines("Retry-After-Ms: 1500", "X-RateLimit-Reset: 9"), "0s 1.5s"},
		{"no milliseconds", lines("Retry-After-Ms: 0", "X-RateLimit-Reset: 9"), "0s 9s"},
		{"Retry-After first", lines("Retry-After: 5", "X-RateLimit-Reset: 9"), "0s 5s"},
		{"Retry-After that cannot be read", lines("Retry-After: soon", "X-RateLimit-Reset: 9"), "0s 9s"},
		{"milliseconds finer than Retry-After", lines("Retry-After: 5", "Retry-After-Ms: 4321"), "0s 4.321s"},
		{"milliseconds of another opinion", lines("Retry-After: 5", "Retry-After-Ms: 4000"), "0s 5s"},
		{"milliseconds of a longer opinion", lines("Retry-After: 5", "Retry-After-Ms: 5001"), "0s 5s"},
		{"milliseconds of the same opinion", lines("Retry-After: 5", "Retry-After-Ms: 5000"), "0s 5s"},

		{"RateLimit", lines(`RateLimit: "default";r=0;t=7`), "0s 7s"},
		{"RateLimit, spaces", lines(`RateLimit:  "default" ; r=0 ;  t=7 `), "0s 7s"},
		{"RateLimit, quota left", lines(`RateLimit: "default";r=5;t=7`), "0s 1s"},
		{"RateLimit of several", lines(`RateLimit: "a";r=0;t=7, "b";r=0;t=9`, `RateLimit: "c";r=3;t=60`), "0s 9s"},
		{"RateLimit, a window", lines(`RateLimit: "b";r=0`, `RateLimit-Policy: "a";q=10;w=60,"b";q=5;w=8`), "0s 8s"},
		{"RateLimit, separators in a name", lines(`RateLimit: "a,;r=0;t=3\"";r=0;t=7`), "0s 7s"},
		{"RateLimit, separators in a name that would mean another thing", lines(`RateLimit: "a;r=0;t=9,";r=5;t=7`), "0s 1s"},
		{"RateLimit, a quote in a name", lines(`RateLimit: "\\";r=0;t=9`, `RateLimit: "\";r=0;t=8,";r=1`), "0s 9s"},
		{"RateLimit of draft 07", lines("RateLimit: limit=10, remaining=0, reset=6"), "0s 6s"},
		{"RateLimit of draft 07, quota left", lines("RateLimit: limit=10, remaining=1, reset=6"), "0s 1s"},
		{"RateLimit, malformed", lines(`RateLimit: ";;,=,"`, `RateLimit: "\`, "RateLimit: ,"), "0s 1s"},
		{"RateLimit-Reset", lines("RateLimit-Reset: 6"), "0s 6s"},
		{"RateLimit-Reset, quota left", lines("RateLimit-Reset: 6", "RateLimit-Remaining: 1"), "0s 1s"},
		{"RateLimit-Reset, used up", lines("RateLimit-Reset: 6", "RateLimit-Remaining: 0"), "0s 6s"},

		{"seconds", lines("X-RateLimit-Reset: 9"), "0s 9s"},
		{"seconds with a fraction", lines("X-RateLimit-Reset: 9.5"), "0s 9.5s"},
		{"quota left", lines("X-RateLimit-Reset: 9", "X-RateLimit-Remaining: 3"), "0s 1s"},
		{"the other name", lines("X-Rate-Limit-Reset: 9"), "0s 9s"},
		{"X-RateLimit-Reset-After", lines("X-RateLimit-Reset-After: 2.25", "X-RateLimit-Reset: 9"), "0s 2.25s"},
		{"epoch", func() []string { return []string{fmt.Sprint("X-RateLimit-Reset: ", in(12*time.Second).Unix())} }, "0s 12s"},
		{"epoch, a fraction", func() []string { return []string{fmt.Sprintf("X-RateLimit-Reset: %d.5", in(12*time.Second).Unix())} }, "0s 12.5s"},
		{"epoch in milliseconds", func() []string { return []string{fmt.Sprint("X-Rate-Limit-Reset: ", in(12*time.Second).UnixMilli())} }, "0s 12s"},
		{"epoch by the server's clock", func() []string {
			return []string{fmt.Sprint("X-RateLimit-Reset: ", in(time.Hour+12*time.Second).Unix()), "Date: " + in(time.Hour).Format(http.TimeFormat)}
		}, "0s 12s"},
		{"epoch in the past", lines("X-RateLimit-Reset: 100000000"), "0s 1s"},
		{"epoch in milliseconds in the past", lines("X-RateLimit-Reset: 100000000000"), "0s 1s"},
		{"the largest number of seconds", lines("X-RateLimit-Reset: 99999999"), "0s 27777h46m39s"},
		{"RFC 3339", func() []string { return []string{"X-RateLimit-Reset: " + in(15*time.Second).Format(time.RFC3339)} }, "0s 15s"},
		{"RFC 3339 in the past", func() []string { return []string{"X-RateLimit-Reset: " + in(-time.Hour).Format(time.RFC3339)} }, "0s 1s"},
		{"negative", lines("X-RateLimit-Reset: -9"), "0s 1s"},
		{"an exponent", lines("X-RateLimit-Reset: 1e9"), "0s 1s"},
		{"points", lines("X-RateLimit-Reset: ..."), "0s 1s"},
		{"a word", lines("X-RateLimit-Reset: NaN"), "0s 1s"},
	} {
		for _, code := range []int{429, 503, 529} {
			bubble(t, c.name, func(t *testing.T) {
				s := newScript(status(code, "", c.header()...), ok)
				expectSent(t, "200 fine", s, constant(3), get(t, t.Context()), retryhttp.RateLimitHeaders())
				s.expect(t, c.want)
			})
		}
	}
	bubble(t, "not unless asked", func(t *testing.T) {
		s := newScript(status(429, "", "X-RateLimit-Reset: 9", "X-Should-Retry: false"), ok)
		send(t, s, constant(3), get(t, t.Context()))
		s.expect(t, "0s 1s")
	})
	bubble(t, "a connection error", func(t *testing.T) {
		s := newScript(failure(errCut), ok)
		send(t, s, constant(3), get(t, t.Context()), retryhttp.RateLimitHeaders())
		s.expect(t, "0s 1s")
	})
	bubble(t, "not for other statuses", func(t *testing.T) {
		s := newScript(status(500, "", "X-RateLimit-Reset: 9", "Retry-After-Ms: 9000"), ok)
		send(t, s, constant(3), get(t, t.Context()), retryhttp.RateLimitHeaders())
		s.expect(t, "0s 1s")
	})
	for _, huge := range []string{"Retry-After-Ms: 9223372036854.775808", "Retry-After-Ms: 999999999999999999999999", "X-RateLimit-Reset: 99999999999999999999999999999", "X-RateLimit-Reset: 1" + fmt.Sprintf("%0400d", 0), `RateLimit: "a";r=0;t=99999999999999999999`, "X-RateLimit-Reset: 2999-01-01T00:00:00Z", "X-RateLimit-Reset: 61"} {
		bubble(t, "past MaxRetryAfter", func(t *testing.T) {
			s := newScript(status(429, "later", huge), ok)
			if got := send(t, s, constant(1, retry.MaxRetryAfter(time.Minute)), get(t, t.Context()), retryhttp.RateLimitHeaders()); got != "429 later" {
				t.Error(huge, got)
			}
			s.expect(t, "0s")
		})
	}
}

// A request that GitHub refuses because of a rate limit is retried at the time that it says, whatever its method.
func TestRateLimitHeaders_GitHub(t *testing.T) {
	reset := func(d time.Duration) string { return fmt.Sprint("X-RateLimit-Reset: ", time.Now().Add(d).Unix()) }
	lines := func(l ...string) func() []string { return func() []string { return l } }
	for _, c := range []struct {
		name   string
		code   int
		header func() []string
		want   string
	}{
		{"403, a primary limit", 403, func() []string { return []string{"X-RateLimit-Remaining: 0", reset(2 * time.Second)} }, "0s 2s"},
		{"429, a primary limit", 429, func() []string { return []string{"X-RateLimit-Remaining: 0", reset(2 * time.Second)} }, "0s 2s"},
		{"403, a limit whose reset has passed", 403, func() []string { return []string{"X-RateLimit-Remaining: 0", reset(0)} }, "0s 1s"},
		{"403, a secondary limit", 403, lines("Retry-After: 60"), "0s 1m0s"},
		{"403, a secondary limit with quota left", 403, func() []string { return []string{"Retry-After: 60", "X-RateLimit-Remaining: 7", reset(time.Second)} }, "0s 1m0s"},
		{"403, a secondary limit until a date", 403, func() []string {
			return []string{"Retry-After: " + time.Now().Add(5*time.Second).UTC().Format(http.TimeFormat)}
		}, "0s 5s"},
		{"403, RateLimit", 403, lines(`RateLimit: "default";r=0;t=7`), "0s 7s"},
		{"429, nothing", 429, lines("A: b"), "0s 1s"},
		{"403, nothing", 403, lines("A: b"), "0s"},
		{"403, quota left", 403, func() []string { return []string{"X-RateLimit-Remaining: 7", reset(2 * time.Second)} }, "0s"},
		{"403, a reset alone", 403, func() []string { return []string{reset(2 * time.Second)} }, "0s"},
		{"403, no quota without a reset", 403, lines("X-RateLimit-Remaining: 0"), "0s"},
		{"403, a Retry-After that cannot be read", 403, lines("Retry-After: soon"), "0s"},
		{"403, an empty Retry-After", 403, lines("Retry-After: "), "0s"},
		{"404, a limit", 404, lines("Retry-After: 60", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 9"), "0s"},
	} {
		for _, method := range []string{"GET", "POST"} {
			bubble(t, c.name+", "+method, func(t *testing.T) {
				s := newScript(status(c.code, "", c.header()...), ok)
				send(t, s, constant(1), request(t, t.Context(), method, nil), retryhttp.RateLimitHeaders())
				s.expect(t, c.want)
			})
		}
	}
	bubble(t, "with Statuses", func(t *testing.T) {
		for code, want := range map[int]string{403: "0s 2s", 429: "0s 2s", 503: "0s"} {
			s := newScript(status(code, "", "X-RateLimit-Remaining: 0", reset(2*time.Second)), ok)
			send(t, s, constant(1), get(t, t.Context()), retryhttp.RateLimitHeaders(), retryhttp.Statuses(500))
			s.expect(t, want)
		}
	})
	bubble(t, "not unless asked", func(t *testing.T) {
		s := newScript(status(403, "", "Retry-After: 60", "X-RateLimit-Remaining: 0", reset(2*time.Second)), ok)
		expectSent(t, "403 ", s, constant(1), get(t, t.Context()))
		s.expect(t, "0s")
	})
	bubble(t, "a body of one use", func(t *testing.T) {
		s := newScript(status(403, "limited", "Retry-After: 60"), ok)
		expectSent(t, "403 limited", s, constant(1), request(t, t.Context(), "POST", io.NopCloser(strings.NewReader("once"))), retryhttp.RateLimitHeaders())
	})
}

func TestShouldRetry(t *testing.T) {
	for _, c := range []struct {
		method string
		code   int
		value  string
		want   string
	}{
		{"GET", 409, "true", "0s 1s"},
		{"POST", 400, "TRUE", "0s 1s"},
		{"GET", 399, "true", "0s"},
		{"GET", 429, "false", "0s"},
		{"GET", 429, "perhaps", "0s 1s"},
		{"GET", 404, "perhaps", "0s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(status(c.code, "", "X-Should-Retry: "+c.value))
			send(t, s, constant(1), request(t, t.Context(), c.method, nil), retryhttp.RateLimitHeaders())
			s.expect(t, c.want)
		})
	}
	bubble(t, "Classify goes first", func(t *testing.T) {
		s := newScript(status(429, "", "X-Should-Retry: false"), failure(errCut))
		retryable := retryhttp.Classify(func(*retryhttp.Outcome) retryhttp.Class { return retryhttp.Retryable })
		send(t, s, constant(1), get(t, t.Context()), retryhttp.RateLimitHeaders(), retryable)
		s.expect(t, "0s 1s")
	})
}

func FuzzRateLimitHeaders(f *testing.F) {
	for _, seed := range []string{"7", `"a";r=0;t=7`, "limit=1, remaining=0, reset=7", "2999-01-01T00:00:00Z", "1e9", "...", `"\`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, limit, reset string) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(func(r *http.Request) (*http.Response, error) {
				resp, err := unavailable(r)
				resp.Header["Ratelimit"] = []string{limit}
				resp.Header["X-Ratelimit-Reset"] = []string{reset}
				resp.Header["Retry-After-Ms"] = []string{reset}
				return resp, err
			}, ok)
			start := time.Now()
			resp, err := retryhttp.NewTransport(s, constant(1, retry.MaxRetryAfter(math.MaxInt64/2)), retryhttp.RateLimitHeaders()).RoundTrip(get(t, t.Context()))
			if read(t, resp, err); err != nil || len(s.calls) == 2 && time.Since(start) <= 0 {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		})
	})
}
