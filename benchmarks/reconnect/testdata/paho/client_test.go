// Package paho shows faults of eclipse/paho.mqtt.golang v1.5.1: a client that connects after Disconnect, and waits
// without a random part.
//
//  1. Disconnect returns while an attempt to connect waits for the broker's answer. When that fails, 30 s later, the
//     client connects once more, with MQTT 3.1 (client.go:429). To mend it: look at the status before that, as after
//     ConnectRetryInterval.
//
//  2. Waits double, and have no random part (backoff.go:86): when a broker restarts, all its clients come at the
//     same moments. To mend it: a random part of each wait.
package paho

import (
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// run runs a client over connections that are served with their number, or refused, calls f, and returns when it
// dialled.
func run(t *testing.T, after time.Duration, serve func(n int, c net.Conn) bool, f func(mqtt.Client)) (dials []time.Time) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(after)
		var mu sync.Mutex
		var open []net.Conn
		options := mqtt.NewClientOptions().AddBroker("tcp://127.0.0.1:1883").SetConnectRetry(true)
		options.SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			dials = append(dials, time.Now())
			client, server := net.Pipe()
			if !serve(len(dials), server) {
				return nil, syscall.ECONNREFUSED
			}
			open = append(open, server)
			return client, nil
		})
		client := mqtt.NewClient(options)
		client.Connect()
		f(client)
		client.Disconnect(250)
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		time.Sleep(time.Hour)
	})
	return dials
}

// accept accepts a client.
func accept(c net.Conn) {
	_, _ = c.Read(make([]byte, 1000))
	_, _ = io.WriteString(c, "\x20\x02\x00\x00")
}

func TestDisconnectEndsAnAttempt(t *testing.T) {
	before := 0
	dials := run(t, 0, func(n int, c net.Conn) bool { // silent
		go func() { _, _ = io.Copy(io.Discard, c) }()
		return true
	}, func(client mqtt.Client) {
		time.Sleep(time.Second)
		client.Disconnect(250)
		before = 1
		time.Sleep(time.Hour)
	})
	if len(dials) > before {
		t.Errorf("Disconnect returned while the first connection had no answer; the client has connected again %v later", dials[1].Sub(dials[0]))
	}
}

func TestJitter(t *testing.T) {
	waits := func(after time.Duration) (all []time.Duration) {
		dials := run(t, after, func(n int, c net.Conn) bool {
			if n == 1 {
				go func() {
					accept(c)
					time.Sleep(time.Second)
					_ = c.Close()
				}()
			}
			return n == 1
		}, func(mqtt.Client) { time.Sleep(time.Hour) })
		for i := 1; i < len(dials); i++ {
			all = append(all, dials[i].Sub(dials[i-1]))
		}
		return all
	}
	if one, other := waits(0), waits(time.Second); slices.Equal(one, other) {
		t.Errorf("two clients that lose their connection, and are refused, both wait for exactly %v, and so on", one[:8])
	}
}
