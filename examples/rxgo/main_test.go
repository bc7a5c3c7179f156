package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

func TestTheObservableComesBack(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `wrapped:
  10
  10
  20
  10
  20
  30
  40
  2 retries: ["the sensor is unplugged" "the sensor is unplugged"]
created for each attempt:
  1
  1
  2
  1
  2
  3
  4
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
