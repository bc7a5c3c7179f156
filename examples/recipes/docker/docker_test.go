package docker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/docker"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
)

const most = 12

var policy = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.ResetAfter(time.Minute))

// daemon is a fake of Docker's. As soon as it has made a list, the next container starts.
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
		d.start()
		_ = json.NewEncoder(w).Encode(list)
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

// A container starts after the first list was made, and then nothing happens any more. The client knows it at once: if
// it listed before it subscribed, it would know it after the silence of an hour.
func TestFollow_WithoutAHole(t *testing.T) {
	d := &daemon{changed: make(chan struct{}), started: most - 1}
	server := httptest.NewServer(d.handler())
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lists := docker.Follow(server.Client(), server.URL, time.Hour, policy)
	sizes, err := operators.Map(lists, func(list []docker.Container) int { return len(list) }).Take(2).Collect(ctx)
	if err != nil || !slices.Equal(sizes, []int{most - 1, most}) {
		t.Errorf("lists of %v containers, %v", sizes, err)
	}
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
		check.Serve(ctx, l, d.handler())
	}
	reconnecttest.Check(t, func() reconnecttest.Run[string] {
		return reconnecttest.Run[string]{Serve: serve, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
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
		}}
	}, reconnecttest.AtLeastOnce())
}
