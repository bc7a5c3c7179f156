package reconnect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/retrywhen/retrywhen/prove"
)

// apiServer is as much of a Kubernetes API server as an informer of config maps needs: list and watch, with resource
// versions. A namespace with n objects is at version n+1; the object that was added last has this version. A watch can
// begin at most keptVersions back: before, it is 410 Gone.
type apiServer struct {
	mu      sync.Mutex
	objects map[string]int // of each namespace
	changed chan struct{}  // closed at the next change
}

const keptVersions = 4

func newAPIServer() *apiServer {
	return &apiServer{objects: map[string]int{}, changed: make(chan struct{})}
}

func (s *apiServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /api/v1/namespaces/{namespace}/configmaps", s)
	return mux
}

func (s *apiServer) add(_ context.Context, r prove.Run, _ int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[r.Name]++
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

func (s *apiServer) look(namespace string) (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[namespace], s.changed
}

type object = map[string]any

func configMap(namespace string, n int) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{
		"namespace": namespace, "name": fmt.Sprintf("event-%02d", n), "uid": fmt.Sprintf("%s-%d", namespace, n), "resourceVersion": strconv.Itoa(n + 1),
	}}
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace, query := r.PathValue("namespace"), r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	count, changed := s.look(namespace)
	if query.Get("watch") != "true" {
		items := []object{}
		for n := range count {
			items = append(items, configMap(namespace, n+1))
		}
		_ = json.NewEncoder(w).Encode(object{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": object{"resourceVersion": strconv.Itoa(count + 1)}, "items": items})
		return
	}
	send := func(kind string, what any) bool {
		err := json.NewEncoder(w).Encode(object{"type": kind, "object": what})
		return err == nil && http.NewResponseController(w).Flush() == nil
	}
	since, _ := strconv.Atoi(query.Get("resourceVersion"))
	initial := query.Get("sendInitialEvents") == "true"
	switch {
	case initial:
		since = 1
	case since < count+1-keptVersions:
		send("ERROR", object{"apiVersion": "v1", "kind": "Status", "status": metav1.StatusFailure, "reason": metav1.StatusReasonExpired, "code": http.StatusGone,
			"message": fmt.Sprintf("too old resource version: %d (%d)", since, count+1-keptVersions)})
		return
	}
	if http.NewResponseController(w).Flush() != nil {
		return
	}
	for {
		for ; since < count+1; since++ {
			if !send("ADDED", configMap(namespace, since)) {
				return
			}
		}
		if initial {
			initial = false
			send("BOOKMARK", object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{
				"resourceVersion": strconv.Itoa(since), "annotations": object{metav1.InitialEventsAnnotationKey: "true"},
			}})
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		count, changed = s.look(namespace)
	}
}

// startKubernetes is an informer over HTTP/2 with TLS, as in a cluster.
func startKubernetes(t *testing.T) prove.Target {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "5")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "3")
	klog.SetLogger(klog.Logger{}) // that logs nothing
	api := newAPIServer()
	server := httptest.NewUnstartedServer(api.handler())
	server.EnableHTTP2, server.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return prove.Target{
		Server:   server.Listener.Addr().String(),
		AnyOrder: true,
		Event:    api.add,
		Client: func(ctx context.Context, r prove.Run, got func(string)) error {
			return runInformer(ctx, &rest.Config{Host: "https://" + r.Addr}, r.Name, got)
		},
	}
}
