package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/suggest"
)

// version returns the module's version, which the go command records in the binary, the version of Go, and the
// platform.
func version() string {
	module := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		module = info.Main.Version
	}
	return fmt.Sprintf("%s, %s, %s/%s", module, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// helpTemplate has the usage and the examples first, then the text, then the flags.
const helpTemplate = `{{.Short}}

Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}

{{.Long | trimTrailingWhitespaces}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
`

// leads makes a command that only has subcommands return an error for an unknown one.
func leads(c *cobra.Command) {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return fmt.Errorf("%sno command %q%s want %s", where(c), args[0], nearest(args[0], names, ""), strings.Join(names, ", "))
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
}

// wantsCommand returns the check of the arguments of a command that runs another one.
func wantsCommand(example string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "" {
			return fmt.Errorf("%s: no command given, want one after --, as in: %s", c.Name(), example)
		}
		return nil
	}
}

// where returns the beginning of a command's errors.
func where(c *cobra.Command) string {
	if !c.HasParent() {
		return ""
	}
	return c.Name() + ": "
}

// nearest returns "; did you mean …?" if a name is similar to the word, else a comma.
func nearest(word string, names []string, dashes string) string {
	if near := suggest.Nearest(word, names); near != "" {
		return fmt.Sprintf("; did you mean %s%s?", dashes, near)
	}
	return ","
}

// wanting is a flag's value of this command, which knows its valid values.
type wanting interface{ wants() string }

// wants has the valid values of the types of package pflag that the flags have.
var wants = map[string]string{
	"bool": "true or false", "int": "a whole number", "uint64": "a whole number, at least 0", "float64": "a number",
	"duration": "a duration, as in 500ms or 1m30s", "durationSlice": "durations separated by commas, as in 5s,1m",
	"float64Slice": "numbers separated by commas",
}

// badFlag returns an error with the command, the wrong flag and its valid values.
func badFlag(c *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := wrong.GetFlag()
		want := wants[f.Value.Type()]
		if v, ok := f.Value.(wanting); ok {
			want = v.wants()
		}
		return fmt.Errorf("%s--%s is %q, want %s", where(c), f.Name, wrong.GetValue(), want)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return fmt.Errorf("%s%w%s see %s --help", where(c), err, nearest(unknown.GetSpecifiedName(), names, "--"), c.CommandPath())
	}
	return fmt.Errorf("%s%w, see %s --help", where(c), err, c.CommandPath())
}
