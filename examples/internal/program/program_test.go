package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/examples/internal/check"
)

func TestStatus(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	writable, err := os.Create(file)
	check.Must(t, err)
	defer writable.Close()
	full, err := os.Open(file) // cannot be written, like a full disk
	check.Must(t, err)
	defer full.Close()
	for _, test := range []struct {
		name   string
		args   []string
		stdout *os.File
		fails  error
		status int
		stderr string
	}{
		{"done", nil, writable, nil, 0, ""},
		{"failed", nil, writable, errors.New("lost 2 lines"), 1, "durable: lost 2 lines\n"},
		{"full", nil, full, nil, 1, "durable: write " + file + ": "},
		{"failed and full", nil, full, errors.New("lost 2 lines"), 1, "durable: lost 2 lines\nwrite "},
		{"argument", []string{"foo", "bar"}, writable, nil, 2, "durable: unknown argument \"foo\": want none: go run ./examples/durable\n"},
		{"flag", []string{"-jobs=1"}, writable, nil, 2, "durable: unknown argument \"-jobs=1\": want none: go run ./examples/durable\n"},
	} {
		var stderr bytes.Buffer
		ran := false
		got := status("durable", test.args, test.stdout, &stderr, func(ctx context.Context, out io.Writer) error {
			ran = true
			fmt.Fprintln(out, test.name)
			fmt.Fprintln(out, "end")
			return test.fails
		})
		if got != test.status || !strings.HasPrefix(stderr.String(), test.stderr) || (test.status == 0) != (stderr.Len() == 0) || ran != (len(test.args) == 0) {
			t.Errorf("%s: status %d, ran: %t, %q; want %d, %q", test.name, got, ran, &stderr, test.status, test.stderr)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "done\nend\nfailed\nend\n" {
		t.Errorf("the output is %q, %v", got, err)
	}
}

func TestEveryProgramIsRunByMain(t *testing.T) {
	mains, err := filepath.Glob("../../*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatal(mains, err)
	}
	for _, file := range mains {
		name := filepath.Base(filepath.Dir(file))
		text, err := os.ReadFile(file)
		if call := fmt.Sprintf("program.Main(%q, os.Args[1:], ", name); err != nil || !strings.Contains(string(text), call) {
			t.Errorf("%s: want a call %s…, %v", file, call, err)
		}
	}
}
