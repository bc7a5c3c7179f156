package retryhttp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/retrywhen/retrywhen/retryhttp"
)

// Frames of HTTP/2.
const (
	frameHeaders  = 1
	frameSettings = 4
	frameGoAway   = 7
)

func writeFrame(w io.Writer, kind, flags byte, streamID uint32, payload ...byte) {
	head := append([]byte{0, 0, byte(len(payload)), kind, flags}, binary.BigEndian.AppendUint32(nil, streamID)...)
	_, _ = w.Write(append(head, payload...))
}

// goAwayServer is a server of HTTP/2 without TLS. It answers the first request of its n-th connection with the n-th of
// the answers, the last one of which is a 200.
func goAwayServer(t *testing.T, answers ...func(net.Conn)) (url string, client *http.Transport) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	answers = append(answers, func(c net.Conn) { writeFrame(c, frameHeaders, 0x5, 1, 0x88) }) // :status 200, the end
	var all sync.WaitGroup
	all.Go(func() {
		for _, answer := range answers {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				defer context.AfterFunc(t.Context(), func() { c.Close() })() // net/http may keep a connection that it does not use
				preface := make([]byte, 24)
				_, _ = io.ReadFull(c, preface)
				writeFrame(c, frameSettings, 0, 0)
				for head := make([]byte, 9); ; {
					if _, err := io.ReadFull(c, head); err != nil {
						return
					}
					_, _ = io.CopyN(io.Discard, c, int64(head[0])<<16|int64(head[1])<<8|int64(head[2]))
					if head[3] == frameHeaders {
						answer(c)
					}
				}
			})
		}
	})
	client = &http.Transport{Protocols: new(http.Protocols)}
	client.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() {
		client.CloseIdleConnections()
		l.Close()
		all.Wait()
	})
	return "http://" + l.Addr().String(), client
}

// goAway excludes the streams above last.
func goAway(last, code byte, closes bool) func(net.Conn) {
	return func(c net.Conn) {
		writeFrame(c, frameGoAway, 0, 0, 0, 0, 0, last, 0, 0, 0, code)
		if closes {
			c.Close()
		}
	}
}

// A POST whose stream a GOAWAY has excluded was not processed, and is sent again. One that may have been processed is
// not.
func TestGoAway(t *testing.T) {
	const calm = 11 // ENHANCE_YOUR_CALM
	for name, c := range map[string]struct {
		answer func(net.Conn)
		sent   bool // again
	}{
		"excluded, with an error":                 {goAway(0, calm, false), true},
		"excluded, with an error, and closed":     {goAway(0, calm, true), true},
		"excluded, gracefully":                    {goAway(0, 0, false), true}, // by net/http itself
		"not excluded, and closed":                {goAway(1, 0, true), false},
		"not excluded, with an error, and closed": {goAway(1, calm, true), false},
		"closed without a GOAWAY":                 {func(c net.Conn) { c.Close() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			url, base := goAwayServer(t, c.answer)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte("pay")))
			must(t, err)
			resp, err := retryhttp.NewTransport(base, quick(2)).RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
			if c.sent != (err == nil) {
				t.Errorf("%v, want it sent again: %v", err, c.sent)
			}
		})
	}
}

// What the server writes into a GOAWAY does not make it another error.
func TestGoAway_TheServersText(t *testing.T) {
	const excluded = "http2: Transport received GOAWAY from server ErrCode:NO_ERROR"
	for text, sent := range map[string]bool{
		excluded: true,
		"http2: server sent GOAWAY and closed the connection; LastStreamID=0, ErrCode=NO_ERROR, debug=\"\"":                 true,
		"http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug=\"" + excluded + "\"": false,
		"a proxy: " + excluded: false,
	} {
		s := newScript(failure(errors.New(text)), ok)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://server/", strings.NewReader("pay"))
		must(t, err)
		resp, err := retryhttp.NewTransport(s, quick(1)).RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		if sent != (err == nil) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// net/http repeats a GET once if its connection was kept and is closed, whatever the policy says.
func TestNetHTTPRepeatsARequestOnAKeptConnection(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) > 1 {
			panic(http.ErrAbortHandler) // closes the connection
		}
	}))
	defer server.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	client := http.Client{Transport: retryhttp.NewTransport(base, quick(5))}
	for _, want := range []int64{1, 1 + 7} {
		resp, err := client.Get(server.URL)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if got := requests.Load(); got != want {
			t.Errorf("%d requests in all, want %d", got, want)
		}
	}
}
