package docs_test

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// The servers to which testing.md links, each with a client that comes back.

func serveSSE(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	for id := last + 1; r.Context().Err() == nil; id++ {
		event := fmt.Sprintf("id: %d\ndata: event %[1]d\n\n", id)
		time.Sleep(100 * time.Millisecond)
		if id > 12 {
			event = ":\n\n"
			time.Sleep(10 * time.Second)
		}
		_, _ = io.WriteString(w, event)
		_ = http.NewResponseController(w).Flush()
	}
}

func serveWebSocket(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	accept := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(accept[:]))
	last, _ := strconv.Atoi(r.URL.Query().Get("after"))
	for id := last + 1; err == nil; id++ {
		text := strconv.Itoa(id)
		frame := append([]byte{0x81, byte(len(text))}, text...)
		time.Sleep(100 * time.Millisecond)
		if id > 12 {
			frame = []byte{0x89, 0} // a ping
			time.Sleep(10 * time.Second)
		}
		_, err = conn.Write(frame)
	}
}

func serveFrames(ctx context.Context, l net.Listener) {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var serving sync.WaitGroup
	defer serving.Wait()
	for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
		serving.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			var last uint32
			err := binary.Read(conn, binary.BigEndian, &last)
			for id := last + 1; err == nil; id++ {
				frame := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 4}, id)
				time.Sleep(100 * time.Millisecond)
				if id > 12 {
					frame = make([]byte, 4) // a heartbeat
					time.Sleep(10 * time.Second)
				}
				_, err = conn.Write(frame)
			}
		})
	}
}

// opens is one connection of a client, which begins after the event last.
type opens = func(dial reconnecttest.Dial, last int) stream.Stream[int]

func TestServers(t *testing.T) {
	for name, test := range map[string]struct {
		serve func(context.Context, net.Listener)
		open  opens
	}{
		"server-sent events": {overHTTP(serveSSE), readSSE},
		"WebSocket":          {overHTTP(serveWebSocket), readWebSocket},
		"frames":             {serveFrames, readFrames},
	} {
		t.Run(name, func(t *testing.T) {
			reconnecttest.Check(t, func() reconnecttest.Run[int] {
				return reconnecttest.Run[int]{Serve: test.serve, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(int)) error {
					policy := retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Equal), retry.ResetAfterItems(1))
					open := func(last int) stream.Stream[int] {
						return test.open(dial, last).Timeout(time.Minute).MustNotEnd(io.EOF)
					}
					return operators.Resume(0, open, func(last, id int) int { return max(last, id) }, policy).
						Filter(func(id int) bool { return id > 0 }).ForEach(ctx, got)
				}}
			})
		})
	}
}

func overHTTP(h http.HandlerFunc) func(context.Context, net.Listener) {
	return func(ctx context.Context, l net.Listener) {
		server := &http.Server{Handler: h}
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		_ = server.Serve(l)
	}
}

// reading is a connection that read reads event after event, 0 for a heartbeat.
func reading(dial reconnecttest.Dial, request string, read func(in *bufio.Reader) (int, error)) stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		conn, err := dial(ctx, "tcp", "127.0.0.1:80")
		if err != nil {
			return err
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		if _, err := io.WriteString(conn, request); err != nil {
			return err
		}
		in := bufio.NewReader(conn)
		if strings.HasPrefix(request, "GET") {
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode == http.StatusOK {
				in = bufio.NewReader(response.Body)
			}
		}
		for {
			id, err := read(in)
			if err != nil || !yield(id) {
				return err
			}
		}
	}
}

func readSSE(dial reconnecttest.Dial, last int) stream.Stream[int] {
	return reading(dial, fmt.Sprintf("GET / HTTP/1.1\r\nHost: a\r\nLast-Event-ID: %d\r\n\r\n", last), func(in *bufio.Reader) (id int, err error) {
		for {
			line, err := in.ReadString('\n')
			if err != nil || line == "\n" {
				return id, err
			}
			if number, ok := strings.CutPrefix(line, "id: "); ok {
				if id, err = strconv.Atoi(strings.TrimSpace(number)); err != nil {
					return 0, err
				}
			}
		}
	})
}

func readWebSocket(dial reconnecttest.Dial, last int) stream.Stream[int] {
	request := fmt.Sprintf("GET /?after=%d HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n", last, "dGhlIHNhbXBsZSBub25jZQ==")
	return reading(dial, request, func(in *bufio.Reader) (int, error) {
		var head [2]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return 0, err
		}
		text := make([]byte, head[1])
		if _, err := io.ReadFull(in, text); err != nil || head[0] == 0x89 {
			return 0, err
		}
		if head[0] != 0x81 {
			return 0, errors.New("an unknown frame")
		}
		return strconv.Atoi(string(text))
	})
}

func readFrames(dial reconnecttest.Dial, last int) stream.Stream[int] {
	return reading(dial, string(binary.BigEndian.AppendUint32(nil, uint32(last))), func(in *bufio.Reader) (int, error) {
		var length uint32
		if err := binary.Read(in, binary.BigEndian, &length); err != nil || length == 0 {
			return 0, err
		}
		var id uint32
		err := binary.Read(in, binary.BigEndian, &id)
		return int(id), err
	})
}
