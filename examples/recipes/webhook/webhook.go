// Package webhook sends events to the URLs of customers. A job of the recipe outbox is one delivery: it is tried for
// days, then a dead row. A customer's server that fails gets one early retry for ten deliveries, and one that is told to
// be left alone until a time is left alone by all workers of the process.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/recipes/outbox"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// Days is the policy of the outbox's Table: about 5 s, 20 s, 80 s … 6 h, for three days.
var Days = retry.New(backoff.Exponential(5*time.Second, 4).Cap(6*time.Hour).Jitter(jitter.Equal), retry.Within(72*time.Hour), retry.Name("webhook"))

// Delivery is the body of a job, as JSON.
type Delivery struct {
	URL   string
	Event json.RawMessage
}

// Sender sends deliveries. It is safe for concurrent use. Its fields must not change while it is in use.
type Sender struct {
	Base   http.RoundTripper                           // nil: http.DefaultTransport
	Secret func(url string) []byte                     // of the customer, for the signature
	Gone   func(ctx context.Context, url string) error // the customer wants no more: remove the URL

	mu    sync.Mutex
	hosts map[string]*http.Client
}

// Send is the handler of the outbox's Work. A delivery may come twice, with the same webhook-id. A 410 ends it and calls
// Gone; each other status but 2xx is retried, as receivers of webhooks expect.
func (s *Sender) Send(ctx context.Context, j outbox.Job) error {
	var d Delivery
	if err := json.Unmarshal([]byte(j.Body), &d); err != nil {
		return retry.Permanent(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(d.Event))
	if err != nil {
		return retry.Permanent(err)
	}
	now := fmt.Sprint(stream.ClockFrom(ctx).Now().Unix())
	mac := hmac.New(sha256.New, s.Secret(d.URL))
	fmt.Fprintf(mac, "%s.%s.%s", j.ID, now, d.Event)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Webhook-Id", j.ID)
	request.Header.Set("Webhook-Timestamp", now)
	request.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	response, err := s.client(request.URL).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10)) // so that the connection is used again
	switch {
	case response.StatusCode < 300:
		return nil
	case response.StatusCode == http.StatusGone:
		err := retry.Permanent(retryhttp.NewStatusError(response))
		if failed := s.Gone(ctx, d.URL); failed != nil {
			return failed // asks again, and calls Gone again
		}
		return err
	}
	return retryhttp.NewStatusError(response) // dictates Retry-After to the outbox
}

// client returns the client of a URL's host. It repeats a delivery once, after a second, if the host's budget allows. If
// the host has said when to come back, Gate fails each request until then, and the outbox waits.
func (s *Sender) client(u *url.URL) *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.hosts[u.Host]; c != nil {
		return c
	}
	if s.hosts == nil {
		s.hosts = map[string]*http.Client{}
	}
	early := retry.New(backoff.Constant(time.Second).Jitter(jitter.Equal), retry.Limit(1), retry.MaxRetryAfter(0),
		retry.AttemptTimeout(15*time.Second), retry.WithBudget(retry.NewBudget(5, 1, 0.1)))
	again := func(*http.Request) bool { return true } // receivers know a Webhook-Id
	c := &http.Client{
		Transport:     retryhttp.NewTransport(s.Base, early, retryhttp.Gate(), retryhttp.Idempotent(again)),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.hosts[u.Host] = c
	return c
}
