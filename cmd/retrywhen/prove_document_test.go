package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// block returns the first block of code in that language.
func block(t *testing.T, document, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(document, "\n```"+language+"\n")
	code, _, closed := strings.Cut(rest, "\n```\n")
	if !ok || !closed {
		t.Fatalf("there is no %s", language)
	}
	return code + "\n"
}

// docs/prove.md begins with a client that loses entries. The client is wrong, and right after the change that follows.
func TestProveDocument(t *testing.T) {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" {
		t.Skip("it needs Redis and Python's redis; RETRYWHEN_NIGHTLY enables it")
	}
	const python = "/usr/bin/python3" // Debian's
	if err := exec.Command(python, "-c", "import redis").Run(); err != nil {
		t.Skip("there is no package redis for Python")
	}
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	text, err := os.ReadFile("../../docs/prove.md")
	must(t, err)
	document := string(text)
	folder := t.TempDir()
	port := startRedis(t, folder)
	replace := strings.NewReplacer("localhost:6379", "localhost:"+port, "redis-cli", "redis-cli -p "+port, "python3 client.py", "client.py")
	_, flags, _ := strings.Cut(strings.TrimSpace(block(t, document, "sh")), "retrywhen prove ")
	flags, args, _ := strings.Cut(replace.Replace(flags), " -- client.py ")
	server, event, _ := strings.Cut(flags, " --event ")
	wrong := block(t, document, "python")
	const from, to = "        last = \"$\"\n", "while True:\n    try:\n"
	right := strings.Replace(strings.Replace(wrong, from, "", 1), to, "last = \"0\"\n"+to, 1)
	if strings.Count(wrong, from) != 1 || strings.Count(wrong, to) != 1 {
		t.Fatal("the program has no place for the change")
	}
	for _, test := range []struct {
		program string
		want    string // in the last line but one, of the wrong one
		code    exitCode
	}{{wrong, "lost: cut before chunk ", 1}, {right, "", 0}, {right, "", 0}, {right, "", 0}} {
		client := filepath.Join(folder, "client.py")
		must(t, os.WriteFile(client, []byte(test.program), 0o600))
		began := time.Now()
		line := append(strings.Fields("prove "+server), "--event", strings.Trim(event, "'"), "--", python, client)
		out, _, err := inProcess(t, append(line, strings.Fields(args)...)...)
		code, ok := errors.AsType[exitCode](err)
		t.Logf("%v: %s", time.Since(began).Round(time.Second), out)
		if code != test.code || err != nil && !ok || !strings.HasPrefix(out, test.want) {
			t.Errorf("%v\n%s\nwant %q and exit code %d", err, out, test.want, test.code)
		}
	}
}

// startRedis starts a server, and returns its port.
func startRedis(t *testing.T, folder string) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("there is no redis-server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	server := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder)
	must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for range 100 {
		if out, err := exec.Command("redis-cli", "-p", port, "ping").Output(); err == nil && strings.HasPrefix(string(out), "PONG") {
			return port
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal(fmt.Sprint("redis-server does not answer on port ", port))
	return ""
}
