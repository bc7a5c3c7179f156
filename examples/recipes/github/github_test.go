package github_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/github"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

const (
	perPage = 4
	list    = "http://127.0.0.1/comments"
)

var policy = retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Full),
	retry.ResetAfterItems(1), retry.MaxRetryAfter(time.Hour))

// pages responds with a page of the numbers 1 to n(), and a link to the next page if there is one.
func pages(n func() int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.FormValue("page"))
		page = max(page, 1)
		values, all := []int{}, n()
		for i := perPage*(page-1) + 1; i <= min(perPage*page, all); i++ {
			values = append(values, i)
		}
		if perPage*page < all {
			w.Header().Set("Link", fmt.Sprintf(`<%s?page=1>; rel="first", <%s?page=%d>; rel="next"`, list, list, page+1))
		}
		_ = json.NewEncoder(w).Encode(values)
	})
}

// The recipe comes back from every break of its connection, while the list grows from 5 values to 14.
func TestFollow(t *testing.T) {
	growing := func(ctx context.Context, l net.Listener) {
		begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when bubbles begin
		check.Serve(ctx, l, pages(func() int { return min(14, 5+int(time.Since(begin)/(10*time.Second))) }))
	}
	reconnecttest.Check(t, func() reconnecttest.Run[int] {
		return reconnecttest.Run[int]{Serve: growing, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(int)) error {
			client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: 30 * time.Second}
			return github.Follow[int](client, "token", github.Position{Page: list}, 5*time.Second, policy).ForEach(ctx, func(i github.Item[int]) { got(i.Value) })
		}}
	})
}

// answers is a transport that gives one answer after the other.
type answers []func(*http.Request) *http.Response

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := (*a)[0]
	*a = (*a)[1:]
	return answer(r), nil
}

func answer(status int, body string, header ...string) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Status: strconv.Itoa(status), Header: h, Request: r, Body: io.NopCloser(strings.NewReader(body))}
	}
}

func TestFollow_Refused(t *testing.T) {
	full := func(header ...string) answers {
		return answers{answer(http.StatusForbidden, "", header...), answer(http.StatusOK, "[7,8]")}
	}
	for _, test := range []struct {
		name    string
		answers answers
		after   time.Duration // 0: it ends
	}{
		{"a rate limit", full("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946686600"), 30 * time.Minute},
		{"a secondary rate limit", full("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946686600", "Retry-After", "120"), 2 * time.Minute},
		{"a secondary rate limit that says nothing", full(), time.Minute},
		{"a secondary rate limit with a quota", answers{answer(http.StatusForbidden, `{"message": "You have exceeded a secondary rate limit."}`, "X-RateLimit-Remaining", "12"),
			answer(http.StatusOK, "[7,8]")}, time.Minute},
		{"forbidden", full("X-RateLimit-Remaining", "12", "X-RateLimit-Reset", "946686600"), 0},
		{"not found", answers{answer(http.StatusNotFound, "")}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, transport := time.Now(), test.answers
				values := github.Follow[int](&http.Client{Transport: &transport}, "token", github.Position{Page: list, Taken: 1}, time.Second, policy)
				got, err := values.Take(1).Collect(t.Context())
				switch status, refused := errors.AsType[*retryhttp.StatusError](err); {
				case test.after == 0:
					if !refused || status.StatusCode/100 != 4 || time.Since(begin) > 0 {
						t.Errorf("%v, after %v", err, time.Since(begin))
					}
				case err != nil || len(got) != 1 || got[0].Value != 8 || got[0].After != (github.Position{Page: list, Taken: 2}) || time.Since(begin) < test.after || time.Since(begin) > 2*test.after:
					t.Errorf("%v, %v, after %v, want [8] after %v or a little more", got, err, time.Since(begin), test.after)
				}
			})
		})
	}
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the position after each value.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := github.Position{Page: list}
	e.Start(&at)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", args[0])
	}}}
	values := github.Follow[int](client, "token", at, time.Second, policy)
	return killed.Follow(ctx, e, 60, values, func(i github.Item[int]) (int, any) { return i.Value, i.After })
}

// The kills are amid pages, at their ends, and at the end of a page that is the last one by then.
func TestFollow_Killed(t *testing.T) {
	server := httptest.NewServer(pages(func() int { return 60 }))
	defer server.Close()
	killed.Check(t, "GitHub", 10, 5, 60, "0", server.Listener.Addr().String())
}
