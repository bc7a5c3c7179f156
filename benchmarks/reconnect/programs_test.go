package reconnect

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/prove"
)

// program returns a client that runs a command, whose lines are its values.
func program(env []string, args func(r prove.Run) []string) func(context.Context, prove.Run, func(string)) error {
	return func(ctx context.Context, r prove.Run, got func(string)) error {
		words := args(r)
		c := exec.CommandContext(ctx, words[0], words[1:]...)
		c.Env = append(os.Environ(), append(env, "PYTHONUNBUFFERED=1")...)
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = 5 * time.Second
		out, err := c.StdoutPipe()
		if err != nil {
			return err
		}
		if err := c.Start(); err != nil {
			return err
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			got(lines.Text())
		}
		err = c.Wait()
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
}

// script runs a program with the host, the port and the name of a run.
func script(words ...string) func(context.Context, prove.Run, func(string)) error {
	return program(nil, func(r prove.Run) []string {
		host, port, _ := net.SplitHostPort(r.Addr)
		return slices.Concat(words, []string{host, port, r.Name})
	})
}

// needs skips a test without a program.
func needs(t *testing.T, name string, args ...string) {
	t.Helper()
	if err := exec.Command(name, args...).Run(); err != nil {
		t.Skipf("%s %q: %v", name, args, err)
	}
}

// startPaho needs Debian's mosquitto, mosquitto-clients and python3-paho-mqtt.
func startPaho(t *testing.T) prove.Target {
	const python = "/usr/bin/python3" // Debian's
	needs(t, python, "-c", "import paho.mqtt.client as m; assert m.__name__")
	needs(t, "which", "mosquitto_pub", "mosquitto_sub")
	address := free(t)
	_, port, _ := net.SplitHostPort(address)
	config := filepath.Join(t.TempDir(), "mosquitto.conf")
	must(t, os.WriteFile(config, []byte("listener "+port+" 127.0.0.1\nallow_anonymous true\nmax_inflight_messages 0\n"), 0o600))
	run := func(ctx context.Context, name string, args ...string) error {
		return exec.CommandContext(ctx, name, append([]string{"-p", port, "-q", "1"}, args...)...).Run()
	}
	begin(t, func() error { return run(t.Context(), "mosquitto_pub", "-t", "x", "-m", "x") }, "mosquitto", "-c", config)
	return prove.Target{
		Server:      address,
		AtLeastOnce: true,
		Before: func(ctx context.Context, r prove.Run) error { // the broker keeps the subscription
			return run(ctx, "mosquitto_sub", "-i", r.Name, "-c", "-t", r.Name, "-E")
		},
		Event: func(ctx context.Context, r prove.Run, n int) error {
			return run(ctx, "mosquitto_pub", "-t", r.Name, "-m", fmt.Sprint("event ", n))
		},
		Client: script(python, "programs/subscriber.py"),
	}
}

// startReconnectingWebSocket needs node and npm.
func startReconnectingWebSocket(t *testing.T) prove.Target {
	needs(t, "node", "--version")
	folder := t.TempDir()
	needs(t, "npm", "install", "--silent", "--prefix", folder, "reconnecting-websocket@4.4.0", "ws@8.23.0")
	return prove.Target{
		Server: serving(t, serveWebSocket),
		Client: program([]string{"NODE_PATH=" + filepath.Join(folder, "node_modules")}, func(r prove.Run) []string {
			return []string{"node", "programs/reconnecting-websocket.js", r.Addr}
		}),
	}
}

var pahoPythonSubject = realSubject{
	"eclipse/paho.mqtt.python v1.6.1, loop_forever",
	"Debian's, in Python, with mosquitto: quality of service 1, a session that the broker keeps, and a keepalive of 5 s in place of 60. Each message is expected at least once.",
	startPaho,
	map[prove.Kind]string{},
}

var reconnectingWebSocketSubject = realSubject{
	"pladaria/reconnecting-websocket v4.4.0",
	"In node, with ws 8.23.0 and the default options. The program asks for what follows the last event, so each is expected once. The server is one in the test.",
	startReconnectingWebSocket,
	map[prove.Kind]string{
		prove.GaveUp: "When connecting takes longer than connectionTimeout, 4 s, it removes its listeners and closes the socket: ws emits an error that nobody listens to, which ends the process. " +
			link("reconnecting-websocket.ts:402", reconnectingWebSocketFile+"#L402"),
		prove.Silent: "Nothing looks whether the other side is there; the timeout is that of connecting. " + link("reconnecting-websocket.ts:388", reconnectingWebSocketFile+"#L388"),
	},
}

const reconnectingWebSocketFile = "pladaria/reconnecting-websocket/blob/v4.4.0/reconnecting-websocket.ts"
