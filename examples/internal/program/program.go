// Package program runs the example programs.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a program until it ends or is interrupted, and exits: with 2 if there are arguments, because the programs
// take none, and with 1 if run or standard output returns an error.
func Main(name string, args []string, run func(ctx context.Context, out io.Writer) error) {
	os.Exit(status(name, args, os.Stdout, os.Stderr, run))
}

func status(name string, args []string, stdout, stderr io.Writer, run func(context.Context, io.Writer) error) int {
	if len(args) > 0 {
		fmt.Fprintf(stderr, "%s: unknown argument %q: want none: go run ./examples/%[1]s\n", name, args[0])
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := &output{Writer: stdout}
	if err := errors.Join(run(ctx, out), out.err); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

// output keeps the first error of a file, because the programs do not look at each of them.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}
