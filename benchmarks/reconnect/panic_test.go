package reconnect

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Close of donovanhide/eventsource closes the channels on which its goroutine sends: if that connects meanwhile, it
// panics. A process of its own shows it.
func TestDonovanhidePanics(t *testing.T) {
	if os.Getenv("RECONNECT_PANICS") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestDonovanhidePanics$")
		c.Env = append(os.Environ(), "RECONNECT_PANICS=yes")
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "panic: send on closed channel") || !strings.Contains(string(out), "stream.go:193") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	visit(t, runDonovanhide, func(_ *server, ended <-chan error, cancel func()) {
		time.Sleep(5 * time.Second) // the second connection, 3 s after the end of the first one, is silent
		cancel()
		<-ended
	}, sending(eventStream, time.Second), silent)
}
