package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// The README's picture is what this command writes; it is written anew by running it with the file in its place:
//
//	go run ./cmd/retrywhen sim herd "before: exponential base=1s factor=2 cap=30s" "after: exponential base=1s factor=2 cap=30s tiled" -o docs/img/herd.svg
func TestReadmePicture(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors may differ in the last digit")
	}
	file := filepath.Join(t.TempDir(), "herd.svg")
	_, _, err := inProcess(t, "sim", "herd", "before: exponential base=1s factor=2 cap=30s", "after: exponential base=1s factor=2 cap=30s tiled", "-o", file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "img", "herd.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/img/herd.svg is not what the command writes: see the comment of this test")
	}
}
