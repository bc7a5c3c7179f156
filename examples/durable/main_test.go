package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The program starts itself as a worker, and so does the test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		main()
	}
	os.Exit(m.Run())
}

func TestTheLedgerBalances(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	var out bytes.Buffer
	if err := run(t.Context(), 600, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"kill 1", "kill 2", "ledger   put 600 = done ", "redrive  the shop is repaired"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}
