package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The desktop's own command opens the page.
func TestLabOpensTheBrowser(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "address")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "xdg-open"), []byte("#!/bin/sh\necho \"$*\" >'"+pipe+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	if err := openBrowser("http://127.0.0.1:1/?a=b"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(pipe); err != nil || string(got) != "http://127.0.0.1:1/?a=b\n" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("PATH", t.TempDir())
	if openBrowser("http://127.0.0.1:1/") == nil {
		t.Error("no error although there is no browser")
	}
}
