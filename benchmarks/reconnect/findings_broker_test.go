package reconnect

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

func redisContext(t *testing.T) {
	visit(t, runRedis, func(s *server, ended <-chan error, cancel func()) {
		time.Sleep(time.Second)
		start := time.Now()
		cancel()
		if <-ended; time.Since(start) != 4*time.Second || s.connections() != 1 {
			t.Errorf("it has returned after %v, after %d connections", time.Since(start), s.connections())
		}
	}, silent)
}

// accepting accepts an MQTT connection, and closes it a second later.
func accepting(_ *server, conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1000))
	_, _ = io.WriteString(conn, "\x20\x02\x00\x00")
	time.Sleep(time.Second)
	_ = conn.Close()
}

func mqttLongestWait(t *testing.T) {
	if longest := slices.Max(waitsOf(t, runMQTT, 0, accepting, nil)); longest != 10*time.Minute {
		t.Errorf("the longest wait in two hours is %v", longest)
	}
}
