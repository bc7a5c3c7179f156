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
