package download_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/download"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program downloads the file, and each read of it is an effect: it is killed among them.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	client := download.Client(policy, time.Second)
	return download.Download(ctx, client, args[0], args[1], func(done, _ int64) { e.Apply(nil, int(done)) })
}

var policy = retry.New(backoff.Constant(10*time.Millisecond), retry.Limit(100))

// paced yields some bytes of a file and then waits, so that not all of them are on their way before the next fault.
type paced struct {
	*bytes.Reader
	left int
	done <-chan struct{}
}

func (p *paced) Read(b []byte) (int, error) {
	if p.left == 0 {
		<-p.done
		return 0, io.ErrUnexpectedEOF
	}
	n, err := p.Reader.Read(b[:min(len(b), p.left)])
	p.left -= n
	return n, err
}

func TestDownload(t *testing.T) {
	data := make([]byte, 4<<20)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, r, "", time.Time{}, &paced{bytes.NewReader(data), 600_000, r.Context().Done()})
	}))
	defer server.Close()
	network := proxy.Start(t, server.Listener.Addr().String())
	client := download.Client(policy, 200*time.Millisecond)
	defer client.CloseIdleConnections()
	fault, next, last := network.Each(), int64(0), int64(0)
	path := filepath.Join(t.TempDir(), "file")
	err := download.Download(t.Context(), client, "http://"+network.Address(), path, func(done, total int64) {
		if done <= last || total != int64(len(data)) {
			t.Errorf("%d of %d bytes after %d", done, total, last)
		}
		if last = done; done > next { // the network has a fault after each 500 kB
			next = done + 500_000
			fault()
		}
	})
	if got, _ := os.ReadFile(path); err != nil || !bytes.Equal(got, data) || last != int64(len(data)) {
		t.Errorf("%d of %d bytes, reported %d: %v", len(got), len(data), last, err)
	}
	if n := requests.Load(); n < 6 {
		t.Errorf("%d requests, want at least 6: the network had too few faults", n)
	}
}

// The process is killed 20 times amid the file, and each byte is written once. A file that has changed meanwhile begins
// again, and one that was complete is only renamed.
func TestDownload_Killed(t *testing.T) {
	data := make([]byte, 8<<20)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	var mu sync.Mutex
	tag, sent := `"v1"`, []string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		w.Header().Set("ETag", tag)
		sent = append(sent, r.Header.Get("Range"))
		content := bytes.NewReader(data)
		mu.Unlock()
		http.ServeContent(w, r, "", time.Time{}, content)
	}))
	defer server.Close()
	path, effects := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "effects")
	complete := func(when string) {
		t.Helper()
		killed.End(t, killed.Start(t, effects, 0, server.URL, path), false)
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: got %d of %d bytes, or others, %v", when, len(got), len(data), err)
		}
		if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
			t.Errorf("%s: left %q", when, left)
		}
	}
	kill := func() { killed.End(t, killed.Start(t, effects, 5, server.URL, path), true) }
	for range 20 {
		kill()
	}
	complete("killed")
	mu.Lock()
	if sent[0] != "" || slices.Contains(sent[1:], "") || !slices.Equal(slices.Compact(slices.Clone(sent)), sent) {
		t.Errorf("got the ranges %q", sent)
	}
	mu.Unlock()
	_, repeated := killed.Seen(t, effects).Count(1, 0) // an event is how many bytes there are
	killed.Row(t, "A download", 20, "the reads of 8 MiB", 0, fmt.Sprint(repeated))

	check.Must(t, os.Rename(path, path+".part"))
	check.Must(t, errors.Join(os.Truncate(path+".part", 1<<20), os.WriteFile(path+".etag", []byte(tag), 0o600)))
	kill()
	mu.Lock()
	tag, data = `"v2"`, bytes.ToUpper(data)
	mu.Unlock()
	kill() // from the start
	complete("changed")
	check.Must(t, errors.Join(os.Rename(path, path+".part"), os.WriteFile(path+".etag", []byte(tag), 0o600)))
	complete("killed before the rename")
}

func TestDownload_Errors(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, nothing := download.Client(policy, time.Second), func(int64, int64) { t.Error("progress") }
	defer client.CloseIdleConnections()
	err := download.Download(t.Context(), client, server.URL, filepath.Join(t.TempDir(), "file"), nothing)
	if e, ok := errors.AsType[*retryhttp.StatusError](err); !ok || e.StatusCode != http.StatusNotFound {
		t.Errorf("not found: %v", err)
	}
	if err := download.Download(t.Context(), client, "http://%", filepath.Join(t.TempDir(), "file"), nothing); err == nil || !strings.Contains(err.Error(), "invalid URL") {
		t.Errorf("no URL: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("enough")
	cancel(cause)
	if err := download.Download(ctx, client, server.URL, filepath.Join(t.TempDir(), "file"), nothing); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}
