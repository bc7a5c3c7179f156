package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Clients in Python and of curl of a server in node that store an event's id too early, and ones that do not.
func TestProveSSE(t *testing.T) {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" {
		t.Skip("it needs node and Python; RETRYWHEN_NIGHTLY enables it")
	}
	for _, program := range []string{"node", "python3", "bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no ", program)
		}
	}
	server := exec.Command("node", "testdata/prove/server.js")
	out, err := server.StdoutPipe()
	must(t, err)
	must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	for _, test := range []struct {
		program, ways, when, want string
		code                      exitCode
	}{
		{"python3 testdata/prove/client.py", "cut,amid,end,silence,refuse,twice", "early", "lost: amid (FIN) in chunk ", 1},
		{"python3 testdata/prove/client.py", "cut,amid,end,silence,refuse,twice", "late", "", 0},
		{"bash testdata/prove/curl.sh", "amid", "early", "lost: amid (", 1},
		{"bash testdata/prove/curl.sh", "amid,silence", "late", "", 0},
	} {
		args := append([]string{"prove", "--server", "127.0.0.1:" + strings.TrimSpace(port), "--ways=" + test.ways, "--"}, strings.Fields(test.program)...)
		out, _, err := inProcess(t, append(args, "{host}", "{port}", "{run}", test.when)...)
		code, ok := errors.AsType[exitCode](err)
		if code != test.code || err != nil && !ok || !strings.HasPrefix(out, test.want) || !strings.Contains(out, "8 values, ") || strings.Contains(out, "did not take place") {
			t.Errorf("%s %s: %v\n%s\nwant %q and exit code %d", test.program, test.when, err, out, test.want, test.code)
		}
		t.Log(out)
	}
}
