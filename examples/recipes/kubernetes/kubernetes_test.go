package kubernetes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/kubernetes"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

var policy = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.ResetAfterItems(1), retry.ResetAfter(time.Minute))

// api is a fake API server. Its list has the pods 1 to 4 at version 4; each version until 12 adds a pod. Then it sends a
// bookmark each minute, of versions that other objects have used. It has forgotten the versions below oldest.
type api struct {
	oldest func() int
	calls  func(url string)
}

func (a api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.calls != nil {
		a.calls(r.URL.String())
	}
	if r.URL.Query().Get("watch") == "" {
		items := []any{}
		for n := 1; n <= 4; n++ {
			items = append(items, pod(n))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]string{"resourceVersion": "4"}, "items": items})
		return
	}
	at, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	end := time.After(time.Duration(seconds) * time.Second)
	flush := http.NewResponseController(w).Flush
	_ = flush()
	send := func(kind string, object any) {
		_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": object})
		_ = flush()
	}
	if at < a.oldest() {
		send("ERROR", map[string]any{"kind": "Status", "code": 410, "message": "too old resource version"})
		return
	}
	for {
		wait := 100 * time.Millisecond
		if at >= 12 {
			wait = time.Minute
		}
		select {
		case <-time.After(wait):
		case <-end:
			return
		case <-r.Context().Done():
			return
		}
		if at++; at > 12 {
			send("BOOKMARK", pod(at))
		} else {
			send("ADDED", pod(at))
		}
	}
}

func pod(n int) any {
	return map[string]any{"metadata": map[string]string{"name": fmt.Sprint("pod-", n), "resourceVersion": strconv.Itoa(n)}}
}

func names(e kubernetes.Event) string {
	all := []string{e.Type}
	for _, o := range e.Objects {
		all = append(all, o.Metadata.Name)
	}
	return strings.Join(all, " ")
}

// The watch comes back from each break, and delivers each change once.
func TestWatch(t *testing.T) {
	serve := func(ctx context.Context, l net.Listener) {
		check.Serve(ctx, l, api{oldest: func() int { return 0 }})
	}
	reconnecttest.Check(t, func() reconnecttest.Run[string] {
		return reconnecttest.Run[string]{Serve: serve, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
			return kubernetes.Watch(client, "http://127.0.0.1/api/v1/pods", 3*time.Minute, policy).ForEach(ctx, func(e kubernetes.Event) { got(names(e)) })
		}}
	})
}

// A day in which the server ends the watch every five minutes: no outage, no warning, and a connection for each.
func TestWatch_PlannedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, dial := check.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(24*time.Hour, stop)
		watches, bookmarks := 0, map[string]bool{}
		go check.Serve(ctx, l, api{oldest: func() int { return 0 }, calls: func(url string) {
			if strings.Contains(url, "watch") {
				watches++
				bookmarks[url] = true
			}
		}})
		var log strings.Builder
		p := policy.With(retry.Log(slog.New(slog.NewTextHandler(&log, nil))), retry.Limit(3))
		client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
		changes := 0
		err := kubernetes.Watch(client, "http://api/pods", 3*time.Minute, p).ForEach(ctx, func(kubernetes.Event) { changes++ })
		if ctx.Err() == nil || changes != 9 || watches < 280 || watches > 290 || len(bookmarks) != watches {
			t.Errorf("%d changes, %d watches from %d versions: %v", changes, watches, len(bookmarks), err)
		}
		if strings.Contains(log.String(), "WARN") {
			t.Errorf("the log has warnings: %.300s", log.String())
		}
		time.Sleep(time.Hour) // until the server's handlers have ended
	})
}

// A version that the server has forgotten is answered by a list.
func TestWatch_Forgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, dial := check.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, stop)
		watches := 0
		go check.Serve(ctx, l, api{
			oldest: func() int { return map[bool]int{watches == 2: 1000}[true] },
			calls: func(url string) {
				if strings.Contains(url, "watch") {
					watches++
				}
			},
		})
		var got []string
		client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
		err := kubernetes.Watch(client, "http://api/pods", 3*time.Second, policy).ForEach(ctx, func(e kubernetes.Event) {
			got = append(got, names(e))
		})
		all := strings.Join(got, ", ")
		if want := "LIST pod-1 pod-2 pod-3 pod-4"; ctx.Err() == nil || strings.Count(all, want) != 2 || strings.Count(all, "ADDED pod-12") != 2 {
			t.Errorf("%d watches, got %s: %v", watches, all, err)
		}
		time.Sleep(time.Hour)
	})
}
