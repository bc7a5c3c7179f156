package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test builds the program and runs it, because the program starts itself as a worker.
func TestTheLedgerBalances(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs the program")
	}
	binary := filepath.Join(t.TempDir(), "durable")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, "-jobs", "600")
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"kill 1", "kill 2", "ledger   put 600 = done ", "redrive  the shop is repaired"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}
