package docker_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/docker"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
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

// logs serves a log of twelve lines, three of which have the same time, 100 ms apart, and then nothing more.
func logs(w http.ResponseWriter, r *http.Request) {
	var since time.Time
	if seconds, nanos, ok := strings.Cut(r.URL.Query().Get("since"), "."); ok {
		s, _ := strconv.ParseInt(seconds, 10, 64)
		n, _ := strconv.ParseInt(nanos, 10, 64)
		since = time.Unix(s, n)
	}
	flush := http.NewResponseController(w).Flush
	_ = flush()
	for n := range most {
		at := time.Unix(1700000000, int64(n/3)*1001)
		if at.Before(since) {
			continue
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
		line := fmt.Sprintf("%s line %d\n", at.UTC().Format("2006-01-02T15:04:05.000000000Z07:00"), n)
		_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{1, 0, 0, 0}, uint32(len(line))), line...))
		_ = flush()
	}
	<-r.Context().Done()
}

// The log goes on after each break, though its lines share times: each line comes once.
func TestLogs(t *testing.T) {
	serve := func(ctx context.Context, l net.Listener) { check.Serve(ctx, l, http.HandlerFunc(logs)) }
	reconnecttest.Check(t, func() reconnecttest.Run[string] {
		return reconnecttest.Run[string]{Serve: serve, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
			return docker.Logs(&http.Client{Transport: transport}, "http://127.0.0.1", "web", docker.Position{}, 2*time.Minute, policy).
				MustNotEnd(fmt.Errorf("the container has ended")).ForEach(ctx, func(l docker.Line) { got(l.Text) })
		}}
	})
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// program has an effect for each container of a list that it has not had yet: there is no position, and each start
// lists again.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	lists := docker.Follow(http.DefaultClient, args[0], time.Hour, policy)
	containers := operators.ConcatMap(lists, func(list []docker.Container) stream.Stream[docker.Container] { return stream.FromSlice(list) })
	fresh := containers.Filter(func(c docker.Container) bool { return e.Counts()[number(c)] == 0 })
	return killed.Follow(ctx, e, most, fresh, func(c docker.Container) (int, any) { return number(c), nil })
}

func number(c docker.Container) int {
	n, _ := strconv.Atoi(c.ID)
	return n
}

func TestFollow_Killed(t *testing.T) {
	d := &daemon{changed: make(chan struct{})}
	server := httptest.NewServer(d.handler())
	defer server.Close()
	defer server.CloseClientConnections()
	killed.Check(t, "Docker: new containers", 5, 2, most, "0", server.URL)
}
