// Package nsq shows faults of nsqio/go-nsq v1.1.0: a failed handshake leaves its connection open.
//
// When IDENTIFY fails, Close calls CloseRead only (conn.go:221), and the loops that close the connection have not
// begun: the descriptor stays until the garbage collector finds it. A consumer that connects again and again to a
// server that does not answer collects open connections on both sides. To mend it: close the connection itself if the
// handshake has not succeeded (consumer.go:585).
package nsq

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/nsqio/go-nsq"
)

func TestAFailedHandshakeClosesItsConnection(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector closes it
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	config := nsq.NewConfig()
	config.HeartbeatInterval, config.ReadTimeout = 100*time.Millisecond, 200*time.Millisecond
	consumer, err := nsq.NewConsumer("topic", "channel", config)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Stop()
	consumer.SetLogger(nil, nsq.LogLevelError)
	consumer.AddHandler(nsq.HandlerFunc(func(*nsq.Message) error { return nil }))
	if err := consumer.ConnectToNSQD(l.Addr().String()); err == nil {
		t.Fatal("the handshake has not failed, although the server is silent")
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("ConnectToNSQD has failed a second ago, and the connection is not closed")
	}
}
