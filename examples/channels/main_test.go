package main

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/examples/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestEveryLineArrivesOnce(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !regexp.MustCompile(`(?m)^1000 lines in order, 1[4-6] reconnects$`).Match(out.Bytes()) {
		t.Errorf("got\n%s", &out)
	}
}

func TestNoServer(t *testing.T) {
	err := read(t.Context(), check.Port(t), new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "limit of 6 retries: 7 failures") {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
