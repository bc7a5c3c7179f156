package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

// Herds that last for very different times have axes of their own, unless the flag says otherwise.
func TestSimHerdChoosesItsAxis(t *testing.T) {
	const own = "a time axis of its own"
	for line, want := range map[string]bool{
		"": true, "--own-axis=false": false,
		"--runs=1|constant d=1s|constant d=2s":            false,
		"--runs=1|--own-axis|constant d=1s|constant d=2s": true,
		"--runs=1|constant d=1s|constant d=4s":            true,
		"--runs=1|constant d=1s":                          false,
	} {
		file := filepath.Join(t.TempDir(), "herd.svg")
		args := append([]string{"sim", "herd", "-o", file}, strings.FieldsFunc(line, func(r rune) bool { return r == '|' })...)
		if _, _, err := inProcess(t, args...); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(got), own) != want {
			t.Errorf("%s: an axis each: %v, want %v", line, !want, want)
		}
	}
}
