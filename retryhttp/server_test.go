package retryhttp_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// upTo lets bad respond to the first n requests, and echoes the body of the others.
func upTo(n int64, bad http.HandlerFunc) (http.HandlerFunc, *atomic.Int64) {
	var count atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1) <= n {
			bad(w, r)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}, &count
}

func TestServer_BodiesAreSentAgainInFull(t *testing.T) {
	protocols(t, func(t *testing.T, p *protocol) {
		body := randomBytes(1 << 20)
		for name, bad := range map[string]http.HandlerFunc{
			"status, body unread": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) },
			"status, body read":   func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); w.WriteHeader(500) },
			"status, body half read": func(w http.ResponseWriter, r *http.Request) {
				io.CopyN(io.Discard, r.Body, 1<<19)
				w.WriteHeader(429)
			},
			"cut":            func(w http.ResponseWriter, r *http.Request) { p.cut(w) },
			"cut after body": func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); p.cut(w) },
		} {
			t.Run(name, func(t *testing.T) {
				h, count := upTo(3, bad)
				url, base := p.serve(h)
				client := http.Client{Transport: retryhttp.NewTransport(base, quick(5))}
				req, err := http.NewRequestWithContext(t.Context(), "PUT", url, bytes.NewReader(body))
				must(t, err)
				resp, err := client.Do(req)
				if got := read(t, resp, err); got != "200 "+string(body) {
					t.Errorf("%.100s, of %d bytes", got, len(got))
				}
				if count.Load() != 4 {
					t.Errorf("%d requests came, want 4", count.Load())
				}
			})
		}
	})
}

// On virtual time, for draining has its time too, which a busy machine may take.
func TestServer_ConnectionsAreUsedAgain(t *testing.T) {
	for _, two := range []bool{false, true} {
		for _, size := range []int{0, 10, 10_000, 200_000} {
			bubble(t, fmt.Sprintf("HTTP%d/%d", map[bool]int{false: 1, true: 2}[two], size), func(t *testing.T) {
				h, _ := upTo(8, func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(503)
					w.Write(make([]byte, size))
				})
				base := serveInBubble(t, two, h)
				var conns atomic.Int64
				dial := base.DialContext
				base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					conns.Add(1)
					return dial(ctx, network, address)
				}
				client := http.Client{Transport: retryhttp.NewTransport(base, quick(10))}
				resp, err := client.Get("http://example.test")
				expectBody(t, resp, err, "200 ")
				if n := conns.Load(); n != 1 {
					t.Errorf("%d connections, want 1", n)
				}
			})
		}
	}
}

func TestServer_PostIsNotCarriedOutTwice(t *testing.T) {
	protocols(t, func(t *testing.T, p *protocol) {
		h, count := upTo(1, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			p.cut(w)
		})
		url, base := p.serve(h)
		client := http.Client{Transport: retryhttp.NewTransport(base, quick(5))}
		_, err := client.Post(url, "text/plain", strings.NewReader("buy"))
		if err == nil || count.Load() != 1 {
			t.Errorf("%v after %d requests", err, count.Load())
		}
		count.Store(0)
		req, _ := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader("buy"))
		req.Header.Set("Idempotency-Key", "1")
		resp, err := client.Do(req)
		if got := read(t, resp, err); got != "200 buy" || count.Load() != 2 {
			t.Errorf("%s after %d requests", got, count.Load())
		}
	})
}

func TestServer_ManyAtOnce(t *testing.T) {
	protocols(t, func(t *testing.T, p *protocol) {
		var count atomic.Int64
		url, base := p.serve(func(w http.ResponseWriter, r *http.Request) {
			switch count.Add(1) % 4 {
			case 0:
				w.WriteHeader(503)
				w.Write(make([]byte, 3000))
			case 1:
				p.cut(w)
			default:
				io.Copy(w, r.Body)
			}
		})
		base.MaxIdleConnsPerHost = 20
		client := http.Client{Transport: retryhttp.NewTransport(base, quick(50))}
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				for k := range 10 {
					want := fmt.Sprint(i, " ", k)
					req, _ := http.NewRequestWithContext(t.Context(), "PUT", url, strings.NewReader(want))
					resp, err := client.Do(req)
					expectBody(t, resp, err, "200 "+want)
				}
			})
		}
		wg.Wait()
	})
}

func TestServer_ErrorsThatAreHopeless(t *testing.T) {
	https := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	https.Config.ErrorLog = quietLog
	https.StartTLS()
	defer https.Close()
	plain := httptest.NewServer(https.Config.Handler)
	defer plain.Close()
	trusting := https.Client().Transport.(*http.Transport).Clone()
	trusting.TLSClientConfig = &tls.Config{RootCAs: trusting.TLSClientConfig.RootCAs, ServerName: "elsewhere.test"}
	for name, c := range map[string]struct {
		base *http.Transport
		url  string
		want string
	}{
		"certificate of an unknown authority": {&http.Transport{}, https.URL, "certificate signed by unknown authority"},
		"certificate of another host":         {trusting, https.URL, "elsewhere.test"},
		"not a TLS server":                    {&http.Transport{}, strings.Replace(plain.URL, "http:", "https:", 1), "server gave HTTP response to HTTPS client"},
	} {
		t.Run(name, func(t *testing.T) {
			defer c.base.CloseIdleConnections()
			p := quick(3, retry.OnRetry(func(_ context.Context, e retry.Event) { t.Errorf("retried: %v", e.Err) }))
			_, err := (&http.Client{Transport: retryhttp.NewTransport(c.base, p)}).Get(c.url)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// In a bubble the real client, the real server and the waits are all on virtual time.
func TestVirtual(t *testing.T) {
	for _, two := range []bool{false, true} {
		bubble(t, map[bool]string{false: "HTTP1", true: "HTTP2"}[two], func(t *testing.T) {
			var count atomic.Int64
			base := serveInBubble(t, two, func(w http.ResponseWriter, r *http.Request) {
				if count.Add(1) < 3 {
					select {
					case <-r.Context().Done():
					case <-time.After(time.Hour):
					}
					return
				}
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
				time.Sleep(time.Minute) // the body may take longer
				io.WriteString(w, "late")
			})
			start := time.Now()
			client := &http.Client{Transport: retryhttp.NewTransport(base, constant(5, retry.AttemptTimeout(10*time.Second)))}
			resp, err := client.Get("http://example.test")
			if got := read(t, resp, err); got != "200 late" || time.Since(start) != 82*time.Second {
				t.Error(got, time.Since(start))
			}
		})
	}
}

func TestTransportLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := serveInBubble(t, false, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) })
		client := http.Client{Transport: retryhttp.NewTransport(base, constant(3, retry.AttemptTimeout(time.Minute)))}
		get := func() {
			resp, err := client.Get("http://example.test")
			read(t, resp, err)
		}
		get()
		synctest.Wait()
		before := virtual.Count()
		for range 10 {
			get()
		}
		synctest.Wait()
		if n := virtual.Count(); n > before {
			t.Errorf("%d goroutines, %d before", n, before)
		}
		client.CloseIdleConnections()
	})
}
