package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	_ "modernc.org/sqlite"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/outbox"
	"github.com/retrywhen/retrywhen/examples/recipes/webhook"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: http.NoBody}
}

var secret = []byte("a secret")

func sender(gone *[]string, base roundTrip) *webhook.Sender {
	return &webhook.Sender{Base: base, Secret: func(string) []byte { return secret },
		Gone: func(_ context.Context, url string) error { *gone = append(*gone, url); return nil }}
}

func job(id int, url string) outbox.Job {
	body, _ := json.Marshal(webhook.Delivery{URL: url, Event: fmt.Appendf(nil, `{"n":%d}`, id)})
	return outbox.Job{ID: fmt.Sprint("e-", id), Body: string(body)}
}

// The receiver can check each attempt.
func TestSend_Signature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sender(nil, func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			mac := hmac.New(sha256.New, secret)
			fmt.Fprintf(mac, "%s.%d.%s", r.Header.Get("Webhook-Id"), time.Now().Unix(), body)
			if got, want := r.Header.Get("Webhook-Signature"), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)); got != want || string(body) != `{"n":7}` {
				t.Errorf("%s of %q, want %s", got, body, want)
			}
			return respond(http.StatusNoContent), nil
		})
		if err := s.Send(t.Context(), job(7, "http://customer/hook")); err != nil {
			t.Error(err)
		}
	})
}

// A hundred deliveries to a host that says "in a minute": one request, and then a hundred, while another host goes on.
func TestSend_Gate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		early, delivered := 0, map[string]int{}
		s := sender(nil, func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if r.URL.Host == "busy" && time.Since(start) < time.Minute {
				early++
				return respond(http.StatusTooManyRequests, "Retry-After", "60"), nil
			}
			delivered[r.URL.Host]++
			return respond(http.StatusOK), nil
		})
		var workers sync.WaitGroup
		for n := range 100 {
			for _, host := range []string{"busy", "other"} {
				workers.Go(func() {
					time.Sleep(time.Duration(n) * time.Millisecond)
					err := retry.Run(t.Context(), webhook.Days, func(ctx context.Context) error { return s.Send(ctx, job(n, "http://"+host+"/")) })
					if err != nil || host == "other" && time.Since(start) > time.Second || time.Since(start) > 80*time.Second {
						t.Errorf("%s after %v: %v", host, time.Since(start), err)
					}
				})
			}
		}
		workers.Wait()
		if early != 1 || delivered["busy"] != 100 || delivered["other"] != 100 {
			t.Errorf("%d early requests, delivered %v", early, delivered)
		}
	})
}

// A host that fails gets an early retry for ten deliveries, after the first five.
func TestSend_Budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		s := sender(nil, func(*http.Request) (*http.Response, error) { requests++; return nil, errors.New("connection reset") })
		for n := range 100 {
			if err := s.Send(t.Context(), job(n, "http://down/")); err == nil {
				t.Error("delivered")
			}
		}
		if requests != 105 {
			t.Errorf("%d requests", requests)
		}
	})
}

// From the table to the receiver: a delivery that fails comes again, and a 410 is a dead row and ends the URL.
func TestWork(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "app.db")+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
	check.Must(t, err)
	defer db.Close()
	if _, err := db.Exec(outbox.Schema); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var gone []string
	received := map[string]int{}
	ctx, stop := context.WithCancel(t.Context())
	s := sender(&gone, func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		received[r.Header.Get("Webhook-Id")]++
		switch {
		case r.URL.Path == "/left":
			return respond(http.StatusGone), nil
		case received[r.Header.Get("Webhook-Id")] == 1:
			return respond(http.StatusBadRequest), nil // a receiver that is deployed just now
		}
		return respond(http.StatusOK), nil
	})
	table := outbox.Table{DB: db, Dialect: outbox.SQLite, Policy: retry.New(backoff.Constant(time.Millisecond)), Lease: time.Minute, Every: 10 * time.Millisecond}
	for n := range 20 {
		url := "http://customer/hook"
		if n == 13 {
			url = "http://customer/left"
		}
		j := job(n, url)
		check.Must(t, table.Put(ctx, db, j.ID, j.Body))
	}
	ended := make(chan error)
	go func() { ended <- table.Work(ctx, 4, s.Send) }()
	for rows := 20; rows > 1; time.Sleep(10 * time.Millisecond) {
		check.Must(t, db.QueryRow("SELECT count(*) FROM outbox").Scan(&rows))
	}
	var id, failure string
	for dead := false; !dead; time.Sleep(10 * time.Millisecond) {
		check.Must(t, db.QueryRow("SELECT id, dead, error FROM outbox").Scan(&id, &dead, &failure))
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if id != "e-13" || !strings.Contains(failure, "410") || len(gone) != 1 || received["e-13"] != 1 || received["e-7"] != 2 {
		t.Errorf("dead: %s %s; gone: %v; received %v", id, failure, gone, received)
	}
}
