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
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/download"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

func TestMain(m *testing.M) { check.Main(m) }

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
	var got bytes.Buffer
	err := download.Download(t.Context(), client, "http://"+network.Address(), &got, func(done, total int64) {
		if done <= last || total != int64(len(data)) {
			t.Errorf("%d of %d bytes after %d", done, total, last)
		}
		if last = done; done > next { // the network has a fault after each 500 kB
			next = done + 500_000
			fault()
		}
	})
	if err != nil || !bytes.Equal(got.Bytes(), data) || last != int64(len(data)) {
		t.Errorf("%d of %d bytes, reported %d: %v", got.Len(), len(data), last, err)
	}
	if n := requests.Load(); n < 6 {
		t.Errorf("%d requests, want at least 6: the network had too few faults", n)
	}
}

func TestDownload_Errors(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, nothing := download.Client(policy, time.Second), func(int64, int64) { t.Error("progress") }
	defer client.CloseIdleConnections()
	err := download.Download(t.Context(), client, server.URL, new(bytes.Buffer), nothing)
	if e, ok := errors.AsType[*retryhttp.StatusError](err); !ok || e.StatusCode != http.StatusNotFound {
		t.Errorf("not found: %v", err)
	}
	if err := download.Download(t.Context(), client, "http://%", new(bytes.Buffer), nothing); err == nil || !strings.Contains(err.Error(), "invalid URL") {
		t.Errorf("no URL: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("enough")
	cancel(cause)
	if err := download.Download(ctx, client, server.URL, new(bytes.Buffer), nothing); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}
