package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/lab"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// output is the form of a command's result: text, unless a field is set.
type output struct {
	given func() bool // whether there is a file
	file  string
	json  bool
	page  bool // there is one
}

func (o *output) flags(c *cobra.Command) {
	o.given = func() bool { return c.Flags().Changed("output") }
	usage := "write a picture to this .svg file"
	if o.page {
		usage += ", or a page to this .html file"
	}
	c.Flags().StringVarP(&o.file, "output", "o", "", usage)
	c.Flags().BoolVar(&o.json, "json", false, "write JSON, with durations in nanoseconds")
	_ = c.MarkFlagFilename("output", "svg", "html") // it fails only for an unknown flag
}

// check returns an error if the result cannot be written. It is called before the work.
func (o *output) check() error {
	if !o.given() {
		return nil
	}
	if o.json {
		return errors.New("want --output or --json, not both")
	}
	switch ext := strings.ToLower(filepath.Ext(o.file)); {
	case ext == ".svg" || ext == ".html" && o.page:
	case o.page:
		return fmt.Errorf("--output is %q, want a name that ends in .svg or .html", o.file)
	default:
		return fmt.Errorf("--output is %q, want a name that ends in .svg", o.file)
	}
	if info, err := os.Stat(o.file); err == nil && info.IsDir() {
		return fmt.Errorf("--output is %q, which is a folder, want a file", o.file)
	}
	folder := filepath.Dir(o.file)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("--output is %q, want a file in a folder that exists: there is no %s", o.file, folder)
	}
	return nil
}

// write writes the result in the chosen form; tab is the one of a page.
func (o *output) write(c *cobra.Command, tab lab.Tab, r report.Result) error {
	out := c.OutOrStdout()
	switch {
	case o.json:
		return writeJSON(out, r.JSON())
	case o.file == "":
		text := console.ForLocale(strings.Join(r.Text(width(out)), "\n") + "\n")
		if isTerminal(out) && os.Getenv("NO_COLOR") == "" {
			text = colored(text)
		}
		_, err := io.WriteString(out, text)
		return err
	}
	write := func(w io.Writer) error { return lab.WriteResult(w, tab, commandLine(c), r.(report.Paged)) }
	if strings.EqualFold(filepath.Ext(o.file), ".svg") {
		write = r.Figure().SVG
	}
	if err := writeFile(o.file, write); err != nil {
		return fmt.Errorf("%s: %s cannot be written: %w", c.Name(), o.file, err)
	}
	return nil
}

// writeJSON writes an indented value.
func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// verdicts are the parts of a text that say how good a result is.
var verdicts = regexp.MustCompile(`([\d,]+) of ([\d,]+)( give up)?|▶|✗|\bnever\b`)

// colored returns a text with its verdicts in colors: green if all are well, red if none is, else yellow.
func colored(text string) string {
	const red, green, yellow = "\x1b[31m", "\x1b[32m", "\x1b[33m"
	return verdicts.ReplaceAllStringFunc(text, func(found string) string {
		color, m := yellow, verdicts.FindStringSubmatch(found)
		switch {
		case m[3] != "":
			return found
		case found == "▶" || m[1] != "" && m[1] == m[2]:
			color = green
		case found == "✗" || found == "never" || m[1] == "0":
			color = red
		}
		return color + found + "\x1b[0m"
	})
}

// commandLine returns the command with its flags and policies, without those of its output.
func commandLine(c *cobra.Command) string {
	words := []string{c.CommandPath()}
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "output" && f.Name != "json" {
			value := f.Value.String()
			if list, ok := f.Value.(pflag.SliceValue); ok {
				value = strings.Join(list.GetSlice(), ",")
			}
			words = append(words, "--"+f.Name+"="+value)
		}
	})
	for _, policy := range c.Flags().Args() {
		words = append(words, lab.ShellQuoted(policy))
	}
	return strings.Join(words, " ")
}

// writeFile writes a file, whole or not at all.
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

// isTerminal reports whether a reader or a writer is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns the width of a line: the terminal's, else COLUMNS, else 100.
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
