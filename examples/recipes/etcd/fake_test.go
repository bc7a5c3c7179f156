package etcd_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
)

// fake serves what a watch of etcd needs, with its rules: the events of a revision come in one response, a watch from a
// compacted revision is cancelled with that revision, and an idle watch gets progress notifications.
// Nightly the same test has the real server.
type fake struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedWatchServer
	mu        sync.Mutex
	events    []*mvccpb.Event
	revision  int64
	compacted int64         // the watches that begin before it are cancelled
	progress  time.Duration // the period of the notifications
	changed   chan struct{} // closed with the next revision
}

func newFake() *fake {
	return &fake{revision: 1, progress: 200 * time.Millisecond, changed: make(chan struct{})}
}

// put writes the rows in a transaction.
func (f *fake) put(keys ...string) { f.change(mvccpb.Event_PUT, keys...) }

// change makes a transaction of changes of one kind.
func (f *fake) change(kind mvccpb.Event_EventType, keys ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revision++
	for _, key := range keys {
		row := &mvccpb.KeyValue{Key: []byte(key), Value: []byte(key), ModRevision: f.revision}
		f.events = append(f.events, &mvccpb.Event{Type: kind, Kv: row})
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// compact forgets all revisions but the last.
func (f *fake) compact() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.compacted = f.revision
}

// prefix returns the prefix of a request: for "" its key is a zero byte.
func prefix(key []byte) string { return strings.Trim(string(key), "\x00") }

func (f *fake) header() *etcdserverpb.ResponseHeader {
	return &etcdserverpb.ResponseHeader{Revision: f.revision}
}

func (f *fake) Range(_ context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := &etcdserverpb.RangeResponse{Header: f.header()}
	rows := map[string]*mvccpb.KeyValue{}
	for _, e := range f.events {
		if rows[string(e.Kv.Key)] = e.Kv; e.Type == mvccpb.Event_DELETE || !strings.HasPrefix(string(e.Kv.Key), prefix(r.Key)) {
			delete(rows, string(e.Kv.Key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		list.Kvs = append(list.Kvs, rows[key])
	}
	return list, nil
}

// after returns what follows the revision, and when to look again.
func (f *fake) after(at int64, prefix string) (*etcdserverpb.WatchResponse, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	response := &etcdserverpb.WatchResponse{Header: f.header()}
	for _, e := range f.events {
		if e.Kv.ModRevision > at && strings.HasPrefix(string(e.Kv.Key), prefix) {
			response.Events = append(response.Events, e)
		}
	}
	if at+1 < f.compacted {
		return &etcdserverpb.WatchResponse{Header: f.header(), Canceled: true, CompactRevision: f.compacted}, nil
	}
	return response, f.changed
}

// Watch serves one watch; a client has more than one only if it shares its connection.
func (f *fake) Watch(s grpc.BidiStreamingServer[etcdserverpb.WatchRequest, etcdserverpb.WatchResponse]) error {
	request, err := s.Recv()
	if err != nil {
		return err
	}
	at := request.GetCreateRequest().StartRevision - 1
	if err := s.Send(&etcdserverpb.WatchResponse{Header: &etcdserverpb.ResponseHeader{}, Created: true}); err != nil {
		return err
	}
	for {
		response, changed := f.after(at, prefix(request.GetCreateRequest().Key))
		if len(response.Events) > 0 || response.Canceled {
			if err := s.Send(response); err != nil {
				return err
			}
		}
		at = response.Header.Revision
		select {
		case <-changed:
		case <-time.After(f.progress):
			if err := s.Send(&etcdserverpb.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: at}}); err != nil {
				return err
			}
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}
}

// startFake serves f until the test ends, and returns the address.
func startFake(t *testing.T, f *fake) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	etcdserverpb.RegisterKVServer(server, f)
	etcdserverpb.RegisterWatchServer(server, f)
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}
