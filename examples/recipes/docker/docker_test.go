package docker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/recipes/docker"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const most = 12

// daemon is a fake of Docker's, on which 12 containers start, 200 ms apart. After each list it has the next one start at once:
// a client that lists before it subscribes does not see that one.
type daemon struct {
	mu      sync.Mutex
	started int
	changed chan struct{} // closed with the next start
}

func (d *daemon) start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.started == most {
		return
	}
	d.started++
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *daemon) now() (int, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.started, d.changed
}

func (d *daemon) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containers/json", func(w http.ResponseWriter, _ *http.Request) {
		n, _ := d.now()
		list := []map[string]string{}
		for i := 1; i <= n; i++ {
			list = append(list, map[string]string{"Id": fmt.Sprint(i), "State": "running"})
		}
		_ = json.NewEncoder(w).Encode(list)
		d.start()
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		seen, changed := d.now()
		flush := http.NewResponseController(w).Flush
		_ = flush()
		for {
			select {
			case <-changed:
			case <-r.Context().Done():
				return
			}
			var n int
			for n, changed = d.now(); seen < n; seen++ {
				fmt.Fprintf(w, "{\"Type\":\"container\",\"Action\":\"start\",\"Actor\":{\"ID\":\"%d\"}}\n", seen+1)
			}
			_ = flush()
		}
	})
	return mux
}

// The recipe comes back from every break of its connections, and sees every container.
func TestFollow(t *testing.T) {
	serve := func(ctx context.Context, l net.Listener) {
		d := &daemon{changed: make(chan struct{})}
		var starting sync.WaitGroup
		defer starting.Wait()
		starting.Go(func() {
			for range most {
				select {
				case <-time.After(200 * time.Millisecond):
					d.start()
				case <-ctx.Done():
					return
				}
			}
		})
		server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: d.handler()}
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		_ = server.Serve(l)
	}
	policy := retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.ResetAfter(time.Minute))
	streamtest.CheckReconnect(t, serve, func(ctx context.Context, dial func(context.Context, string, string) (net.Conn, error), got func(string)) error {
		transport := &http.Transport{DialContext: dial}
		defer transport.CloseIdleConnections()
		seen := map[docker.Container]bool{}
		return docker.Follow(&http.Client{Transport: transport}, "http://127.0.0.1", 2*time.Minute, policy).ForEach(ctx, func(list []docker.Container) {
			for _, c := range list {
				if !seen[c] {
					seen[c] = true
					got(c.ID + " " + c.State)
				}
			}
		})
	}, streamtest.AtLeastOnce())
}
