//go:build unix

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A worker of a queue that deletes a job before it has read it, one that takes a part for the whole, and a right one.
func TestProveBeanstalk(t *testing.T) {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" {
		t.Skip("it needs beanstalkd and Python; RETRYWHEN_NIGHTLY enables it")
	}
	for _, program := range []string{"beanstalkd", "bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no ", program)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	host, port, _ := net.SplitHostPort(address)
	must(t, l.Close())
	server := exec.Command("beanstalkd", "-l", host, "-p", port)
	must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for c, err := net.Dial("tcp", address); ; c, err = net.Dial("tcp", address) {
		if err == nil {
			_ = c.Close()
			break
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	const timeToRun = 2                            // in seconds: then a job is free again
	const rest = " is longer than the line before" // so that half of both is within the job
	event := fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/%s/%s; printf "use {run}\r\nput 0 0 %d %d\r\nevent {n}%s\r\nquit\r\n" >&3; cat <&3 >/dev/null'`,
		host, port, timeToRun, len("event 1")+len(rest), rest)
	for _, test := range []struct {
		fault, want string // how a line of stdout begins
		code        exitCode
	}{
		{"", "3 values, ", 0},
		{"early", "lost: amid (", 1},
		{"short", "foreign: amid (", 1},
	} {
		out, errOut, err := inProcess(t, "prove", "--server", address, "--event", event, "--events=3", "--at-least-once", "--any-order", "--ways=amid",
			"--", "python3", "testdata/prove/worker.py", "{host}", "{port}", "{run}", test.fault)
		if tooBusy(t, err) {
			continue
		}
		code, ok := errors.AsType[exitCode](err)
		if code != test.code || err != nil && !ok || !strings.Contains("\n"+out, "\n"+test.want) {
			t.Errorf("%q: %v\n%s%s\nwant %q and exit code %d", test.fault, err, out, errOut, test.want, test.code)
		}
		t.Log(out)
	}
}
