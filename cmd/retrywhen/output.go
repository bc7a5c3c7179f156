package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
)

// output is where and how a command gives its result: as text, unless one of these says otherwise.
type output struct {
	file string
	json bool
	csv  bool
}

func (o *output) flags(c *cobra.Command) {
	c.Flags().StringVarP(&o.file, "output", "o", "", "write a picture to this .svg or .png, or a page to this .html")
	c.Flags().BoolVar(&o.json, "json", false, "write JSON; durations are nanoseconds")
	c.Flags().BoolVar(&o.csv, "csv", false, "write CSV; durations are seconds")
	c.MarkFlagsMutuallyExclusive("output", "json", "csv")
	_ = c.MarkFlagFilename("output", "svg", "png", "html") // fails for a flag that does not exist
}

// check refuses a file that cannot be written in any format, before the work is done.
func (o *output) check() error {
	switch strings.ToLower(filepath.Ext(o.file)) {
	case ".svg", ".png", ".html":
		return nil
	}
	if o.file == "" {
		return nil
	}
	return fmt.Errorf("--output is %q, want a name that ends in .svg, .png or .html", o.file)
}

// report is a result in all its forms.
type report struct {
	text   func(w io.Writer, width int) error
	json   any
	csv    [][]string // with its header
	figure func() picture.Figure
	page   func(w io.Writer) error
}

// write gives the report in the form that is asked for.
func (o *output) write(c *cobra.Command, r report) error {
	out := c.OutOrStdout()
	switch {
	case o.json:
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r.json)
	case o.csv:
		return csv.NewWriter(out).WriteAll(r.csv)
	case o.file == "":
		return r.text(out, width(out))
	}
	var write func(io.Writer) error
	switch strings.ToLower(filepath.Ext(o.file)) {
	case ".svg":
		write = r.figure().SVG
	case ".png":
		write = r.figure().PNG
	default:
		write = r.page
	}
	return writeFile(o.file, write)
}

// writeFile writes a file; one that cannot be written whole is not left behind.
func writeFile(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// width returns how many letters fit on a line: those of the terminal, else of COLUMNS, else 100.
func width(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return 100
}

func writeLines(w io.Writer, lines []string) error {
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, l); err != nil {
			return err
		}
	}
	return nil
}

// seconds writes a duration for CSV.
func seconds(d time.Duration) string { return decimal(d.Seconds()) }

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
