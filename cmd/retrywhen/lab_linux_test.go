package main

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The desktop's own command opens the page, with --open only. If there is none, lab says so and serves the page.
func TestLabOpensTheBrowser(t *testing.T) {
	folder, empty := t.TempDir(), t.TempDir()
	name := filepath.Join(folder, "address")
	must(t, syscall.Mkfifo(name, 0o600))
	pipe, err := os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0)
	must(t, err)
	defer func() { _ = pipe.Close() }()
	must(t, pipe.SetReadDeadline(time.Now().Add(time.Minute))) // if no browser is opened
	script := "#!/bin/sh\necho \"$*\" >'" + name + "'\n"
	must(t, os.WriteFile(filepath.Join(folder, "xdg-open"), []byte(script), 0o700)) //nolint:gosec // it is to be run
	const none = `retrywhen: lab: no browser could be opened: exec: "xdg-open": executable file not found in $PATH` + "\n"
	for _, test := range []struct {
		args       []string
		path, said string
		opens      bool
	}{
		{[]string{"--open", "sidekiq"}, folder, "", true},
		{[]string{"--open"}, empty, none, false},
		{nil, empty, "", false},
	} {
		p := command(t, append([]string{"lab", "--port=0"}, test.args...)...)
		p.Env = append(p.Env, "PATH="+test.path)
		p.start(t)
		address := p.line(t)
		if test.opens {
			if opened, err := bufio.NewReader(pipe).ReadString('\n'); err != nil || opened != address+"\n" {
				t.Errorf("%q is opened, %v, want %q", opened, err, address)
			}
		} else if r, err := http.Get(address + "app.css"); err != nil { //nolint:noctx,gosec // of the test's own process
			t.Error(err)
		} else if _ = r.Body.Close(); r.StatusCode != http.StatusOK {
			t.Error(r.Status)
		}
		p.signal(t, syscall.SIGINT)
		if rest, code := p.end(t); rest != "" || code != 0 || p.err.String() != test.said {
			t.Errorf("%q: exit code %d, %q, stderr %q, want %q", test.args, code, rest, p.err.String(), test.said)
		}
	}
}

// The second lab finds the usual port in use. On Linux every address 127.x.y.z is this machine's.
func TestLabIsForThisMachineOnly(t *testing.T) {
	for range 2 {
		p := command(t, "lab")
		p.start(t)
		defer func() { _ = p.Process.Kill() }()
		other := strings.TrimSuffix(strings.Replace(p.line(t), "http://127.0.0.1:", "127.0.0.2:", 1), "/")
		if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", other); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v, %v; want that it is refused", other, conn, err)
		}
	}
}
