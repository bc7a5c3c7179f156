// Site writes the lab as a folder for a file server, with the pictures of the docs:
//
//	go run ./internal/lab/site ../../dist/site
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := errors.New("want one folder to write to")
	if len(os.Args) == 2 {
		err = write(ctx, os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// wasm is the file name of the program that the page's worker runs.
const wasm = "lab.wasm.gz"

// write replaces the folder by a new site.
func write(ctx context.Context, folder string) error {
	if _, err := os.Stat(folder); err == nil {
		if _, err := os.Stat(filepath.Join(folder, wasm)); err != nil {
			return fmt.Errorf("%s exists and is not a site, want a new folder", folder)
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := lab.WriteSite(folder); err != nil {
		return err
	}
	if err := module(ctx, filepath.Join(folder, wasm)); err != nil {
		return err
	}
	root, err := output(ctx, "env", "GOROOT")
	if err != nil {
		return err
	}
	for name, from := range map[string]string{"wasm_exec.js": "lib/wasm/wasm_exec.js", "go.license.txt": "LICENSE"} {
		if err := copyFile(filepath.Join(folder, name), filepath.Join(root, from)); err != nil {
			return err
		}
	}
	pictures, err := output(ctx, "list", "-m", "-f", "{{.Dir}}", "github.com/retrywhen/retrywhen")
	if err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(folder, "img"), os.DirFS(filepath.Join(pictures, "docs", "img")))
}

// module builds the worker's program, compressed, because not every server compresses it.
func module(ctx context.Context, name string) (err error) {
	built := strings.TrimSuffix(name, ".gz")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", built, "github.com/retrywhen/retrywhen/cmd/retrywhen/internal/lab/wasm")
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	in, err := os.Open(built)
	if err != nil {
		return err
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = io.Copy(z, in)
	return errors.Join(err, z.Close(), out.Close(), in.Close(), os.Remove(built))
}

func output(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Stderr = os.Stderr
	text, err := c.Output()
	return strings.TrimSpace(string(text)), err
}

func copyFile(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
