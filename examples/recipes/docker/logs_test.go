package docker_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/docker"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

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
