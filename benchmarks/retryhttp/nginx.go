package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// crowd is the number of clients that send a request at the same time.
const crowd = 40

// nginxConfig configures a server that accepts ten requests a second and refuses all others with 503.
const nginxConfig = `daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http {
  access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  limit_req_zone $binary_remote_addr zone=all:1m rate=10r/s;
  server { listen 127.0.0.1:%[2]d; limit_req zone=all; root %[1]s; location / { try_files /served =404; } }
}`

// nginx sends a crowd to nginx's limit_req, once with each library. It prints how many clients are served within four
// retries, whose waits are 0.5, 1, 2 and 4 s before jitter.
func nginx(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "nginx")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().(*net.TCPAddr)
	listener.Close()
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(filepath.Join(dir, "served"), []byte("served"), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir, address.Port), 0o644); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := exec.CommandContext(ctx, "nginx", "-c", config, "-e", filepath.Join(dir, "error.log"))
	if err := server.Start(); err != nil {
		return fmt.Errorf("nginx, of Debian's package nginx-light, is needed: %w", err)
	}
	defer func() { stop(); _ = server.Wait() }()
	url := fmt.Sprintf("http://%v/", address)
	up := retry.New(backoff.Constant(50*time.Millisecond), retry.Limit(100))
	if err := retry.Run(ctx, up, func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address.String())
		if err != nil {
			return err
		}
		return conn.Close()
	}); err != nil {
		return err
	}

	waits := backoff.Exponential(500*time.Millisecond, 2)
	policy := func(b backoff.Backoff) client {
		return func(base http.RoundTripper) http.RoundTripper {
			return retryhttp.NewTransport(base, retry.New(b, retry.Limit(4)))
		}
	}
	fmt.Fprintf(out, "| client | served, of %d | requests |\n|---|--:|--:|\n", crowd)
	for _, c := range []struct {
		name string
		client
	}{
		{"go-retryablehttp", func(base http.RoundTripper) http.RoundTripper {
			return hashicorpWaits(base, 500*time.Millisecond, 4*time.Second)
		}},
		{"failsafe-go", func(base http.RoundTripper) http.RoundTripper {
			return failsafehttp.NewRoundTripper(base, failsafehttp.NewRetryPolicyBuilder().
				WithBackoff(500*time.Millisecond, 4*time.Second).WithMaxRetries(4).Build())
		}},
		{"failsafe-go, jitter factor 0.5", func(base http.RoundTripper) http.RoundTripper {
			return failsafehttp.NewRoundTripper(base, failsafehttp.NewRetryPolicyBuilder().
				WithBackoff(500*time.Millisecond, 4*time.Second).WithJitterFactor(0.5).WithMaxRetries(4).Build())
		}},
		{"retryhttp, no jitter", policy(waits)},
		{"retryhttp, equal jitter", policy(waits.Jitter(jitter.Equal))},
		{"retryhttp, full jitter", policy(waits.Jitter(jitter.Full))},
		{"retryhttp, tiled", policy(waits.Tiled())},
	} {
		time.Sleep(time.Second) // nginx forgets the crowd before
		served, sent := storm(ctx, url, c.client)
		fmt.Fprintf(out, "| %s | %d | %d |\n", c.name, served, sent)
	}
	return nil
}

// storm sends one request for each client of the crowd, all at once.
func storm(ctx context.Context, url string, retrying client) (served, sent int64) {
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	var requests, ok atomic.Int64
	counted := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		requests.Add(1)
		return base.RoundTrip(r)
	})
	transport := retrying(counted)
	var all sync.WaitGroup
	for range crowd {
		all.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return
			}
			resp, err := (&http.Client{Transport: transport}).Do(req)
			if err != nil {
				return
			}
			defer resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				ok.Add(1)
			}
		})
	}
	all.Wait()
	return ok.Load(), requests.Load()
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
