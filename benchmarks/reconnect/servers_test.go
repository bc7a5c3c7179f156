package reconnect

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

const (
	events    = 12
	pace      = 100 * time.Millisecond
	heartbeat = 10 * time.Second
)

// serving returns the address of a server that runs until the test ends.
func serving(t *testing.T, serve serverRun) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { serve(ctx, l) })
	t.Cleanup(func() { cancel(); all.Wait() })
	return l.Addr().String()
}

// serveHTTP runs a handler until ctx ends.
func serveHTTP(h http.HandlerFunc) func(context.Context, net.Listener) {
	return func(ctx context.Context, l net.Listener) {
		server := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		_ = server.Serve(l)
	}
}

// serveSSE serves the events after Last-Event-ID, and then comments.
var serveSSE = serveHTTP(func(w http.ResponseWriter, r *http.Request) { sendEvents(w, r, "event %d") })

// sendEvents sends events whose data have the given format.
func sendEvents(w http.ResponseWriter, r *http.Request, format string) {
	w.Header().Set("Content-Type", "text/event-stream")
	last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	for n := last + 1; r.Context().Err() == nil; n++ {
		if n <= events {
			time.Sleep(pace)
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", n, fmt.Sprintf(format, n))
		} else {
			time.Sleep(heartbeat)
			fmt.Fprint(w, ":\n\n")
		}
		_ = http.NewResponseController(w).Flush()
	}
}

// serveMCP speaks as much of MCP's streamable HTTP as a client needs that waits for the server's log messages. It has
// one session, which outlives the server.
var serveMCP = serveHTTP(func(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		sendEvents(w, r, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"event %d"}}`)
	case http.MethodPost:
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || request.Method != "initialize" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "session")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"logging":{}},"serverInfo":{"name":"server","version":"v1.0.0"}}}`,
			request.ID, mcpVersion)
	}
})

// serveFile serves a file of lines, slowly.
var serveFile = serveHTTP(func(w http.ResponseWriter, r *http.Request) {
	var text strings.Builder
	for n := 1; n <= events; n++ {
		text.WriteString(fmt.Sprintf("line %d\n", n))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text.String())))
	for line := range strings.Lines(text.String()) {
		time.Sleep(pace)
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
})

// serveWebSocket serves the events after the one that the client names, and then heartbeats.
var serveWebSocket = serveHTTP(func(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	var request struct {
		After int `json:"subscribe_after"`
	}
	if err := wsjson.Read(r.Context(), conn, &request); err != nil {
		return
	}
	ctx := conn.CloseRead(r.Context())
	for n := request.After + 1; ; n++ {
		e := event{ID: n, Data: fmt.Sprint("event ", n)}
		if n > events {
			e = event{}
			time.Sleep(heartbeat)
		}
		time.Sleep(pace)
		if wsjson.Write(ctx, conn, e) != nil {
			return
		}
	}
})

// serveTCP calls serve for each connection, on its own goroutine.
func serveTCP(serve func(conn net.Conn, write func(string) error)) func(context.Context, net.Listener) {
	return func(ctx context.Context, l net.Listener) {
		var all sync.WaitGroup
		defer all.Wait()
		defer context.AfterFunc(ctx, func() { _ = l.Close() })()
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var mu sync.Mutex
			all.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				defer conn.Close()
				serve(conn, func(s string) error {
					mu.Lock()
					defer mu.Unlock()
					_, err := io.WriteString(conn, s)
					return err
				})
			})
		}
	}
}

// publish writes the events.
func publish(write func(string) error, message func(text string) string) {
	for n := 1; n <= events; n++ {
		time.Sleep(pace)
		if write(message(fmt.Sprint("event ", n))) != nil {
			return
		}
	}
}

// serveNATS speaks as much of NATS' protocol as a subscriber needs. Each subscription gets all events.
var serveNATS = serveTCP(func(conn net.Conn, write func(string) error) {
	if write(`INFO {"server_id":"x","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576}`+"\r\n") != nil {
		return
	}
	for in := bufio.NewScanner(conn); in.Scan(); {
		switch words := strings.Fields(in.Text()); words[0] {
		case "PING":
			_ = write("PONG\r\n")
		case "SUB":
			id := words[len(words)-1]
			go publish(write, func(text string) string { return fmt.Sprintf("MSG events %s %d\r\n%s\r\n", id, len(text), text) })
		}
	}
})

// serveRedis speaks as much of Redis' protocol as a subscriber needs. Each subscription gets all events.
var serveRedis = serveTCP(func(conn net.Conn, write func(string) error) {
	subscribed := false
	for in := bufio.NewReader(conn); ; {
		words, err := command(in)
		if err != nil {
			return
		}
		switch strings.ToLower(words[0]) {
		case "subscribe":
			subscribed = true
			_ = write(fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n", len(words[1]), words[1]))
			go publish(write, func(text string) string {
				return fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(words[1]), words[1], len(text), text)
			})
		case "ping":
			if subscribed {
				_ = write("*2\r\n$4\r\npong\r\n$0\r\n\r\n")
			} else {
				_ = write("+PONG\r\n")
			}
		case "hello":
			_ = write("*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:1\r\n" +
				"$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n")
		case "client":
			_ = write("+OK\r\n")
		default:
			_ = write("-ERR unknown command\r\n")
		}
	}
})

// command reads a command of Redis' protocol.
func command(in *bufio.Reader) (words []string, err error) {
	var n int
	if _, err := fmt.Fscanf(in, "*%d\r\n", &n); err != nil {
		return nil, err
	}
	for range n {
		var size int
		if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		words = append(words, string(text[:size]))
	}
	return words, nil
}

// serveMQTT speaks as much of MQTT 3.1.1 as a subscriber needs. Each subscription gets all events.
var serveMQTT = serveTCP(func(conn net.Conn, write func(string) error) {
	for in := bufio.NewReader(conn); ; {
		kind, err := in.ReadByte()
		if err != nil {
			return
		}
		size, err := binary.ReadUvarint(in)
		if err != nil {
			return
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		switch kind >> 4 {
		case 1: // CONNECT
			_ = write("\x20\x02\x00\x00")
		case 8: // SUBSCRIBE
			_ = write("\x90\x03" + string(body[:2]) + "\x00")
			go publish(write, func(text string) string {
				return fmt.Sprintf("\x30%c\x00\x06events%s", len(text)+8, text)
			})
		case 12: // PINGREQ
			_ = write("\xd0\x00")
		}
	}
})
