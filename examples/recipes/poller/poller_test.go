package poller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/poller"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

var policy = retry.New(backoff.Exponential(time.Second, 2), retry.Limit(2))

// Failures are retried at 1 and 2 s, and what has worked is asked again after a minute. The count starts over.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, broken := time.Now(), errors.New("broken")
		var at []time.Duration
		err := poller.Every(t.Context(), time.Minute, policy, func(context.Context) error {
			at = append(at, time.Since(start)/time.Second)
			if n := len(at); n == 2 || n == 3 || n >= 6 {
				return broken
			}
			return nil
		})
		if want := []time.Duration{0, 60, 61, 63, 123, 183, 184, 186}; !slices.Equal(at, want) || !errors.Is(err, retry.ErrLimit) || !errors.Is(err, broken) {
			t.Errorf("asked at %d s, want %d s: %v", at, want, err)
		}
	})
}

func TestEvery_Cancelled(t *testing.T) {
	for name, ask := range map[string]func(context.Context) error{
		"in the interval":    func(context.Context) error { return nil },
		"in a wait":          func(context.Context) error { return io.EOF },
		"while it asks":      func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"while it asks well": func(ctx context.Context) error { <-ctx.Done(); return nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Millisecond, func() { cancel(errors.New("enough")) })
			start := time.Now()
			err := poller.Every(ctx, time.Minute, policy, ask)
			if err == nil || !strings.Contains(err.Error(), "enough") || time.Since(start) != time.Millisecond {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The value changes at 1 m, 10 m and 20 m. The server fails at 3 m, answers at once without a change at 12 m, and begins
// again with a lower index at 15 m.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var queries, got []string
		now := func() string { return fmt.Sprint(time.Since(start).Round(time.Second)) }
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked, _ := strconv.Atoi(r.URL.Query().Get("index"))
			queries = append(queries, fmt.Sprint(now(), " ", asked))
			began := time.Since(start)
			for {
				at := time.Since(start)
				index := 7
				for _, change := range []time.Duration{1, 10} {
					if at >= change*time.Minute {
						index++
					}
				}
				if at >= 15*time.Minute {
					index = 3
				}
				if at >= 20*time.Minute {
					index = 4
				}
				switch {
				case at == 3*time.Minute && at > began:
					return nil, io.ErrUnexpectedEOF
				case index != asked, at-began >= 5*time.Minute, at == 12*time.Minute:
					return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"X-Consul-Index": {strconv.Itoa(index)}},
						Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`[{"Key":"a","Value":"%s"}]`, "djE=")))}, nil
				}
				time.Sleep(time.Second)
			}
		})}
		err := poller.Watch(client, "http://consul", "a", policy).Take(5).ForEach(t.Context(), func(pairs []poller.Pair) {
			got = append(got, fmt.Sprintf("%s %s=%s", now(), pairs[0].Key, pairs[0].Value))
		})
		if want := []string{"0s a=v1", "1m0s a=v1", "10m0s a=v1", "15m1s a=v1", "20m0s a=v1"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, want %q: %v", got, want, err)
		}
		if want := []string{"0s 0", "0s 7", "1m0s 8", "3m1s 8", "8m2s 8", "10m0s 9", "12m1s 9", "15m1s 0", "15m1s 3"}; !slices.Equal(queries, want) {
			t.Errorf("asked %q, want %q", queries, want)
		}
	})
}
