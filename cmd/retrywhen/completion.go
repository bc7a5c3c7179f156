package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/retry"
)

// starts are the policies that completion offers first, at least one for each curve.
var starts = []string{
	"constant d=5s",
	"linear d=1s tiled",
	"quadratic d=1s jitter=default",
	"polynomial d=1s degree=1.5 jitter=equal",
	"exponential base=1s factor=2 cap=30s jitter=equal",
	"exponential base=100ms factor=2 cap=30s jitter=full",
	"fibonacci d=1s jitter=default",
	"table delays=10ms,100ms,1s jitter=default",
	"sidekiq",
	"buckets unit=1s exponent=3",
	"decorrelated base=100ms cap=30s",
}

// policies returns what the text that was begun may become: a policy to start from, a strategy in use, or itself with
// one more word, of the policy's or of own. A quote that a shell has left before it does not count.
func policies(begun string, own ...string) []string {
	begun = strings.TrimLeft(begun, `"'`)
	var found []string
	for _, s := range starts {
		if strings.HasPrefix(s, begun) {
			found = append(found, s)
		}
	}
	for _, t := range report.Today {
		if strings.HasPrefix(t.Name, begun) {
			found = append(found, t.Name)
		}
	}
	cut := strings.LastIndex(begun, " ") + 1
	before, word := begun[:cut], begun[cut:]
	have := strings.Fields(before)
	if len(have) == 0 || strings.HasSuffix(have[len(have)-1], ":") {
		for _, s := range starts {
			if before != "" && strings.HasPrefix(s, word) {
				found = append(found, before+s)
			}
		}
		return found
	}
	var more []string
	for _, w := range retry.Words() {
		more = append(more, w.String())
	}
	for _, m := range append(more, own...) {
		name, _, _ := strings.Cut(m, "=")
		given := slices.ContainsFunc(have, func(h string) bool { return h == name || strings.HasPrefix(h, name+"=") })
		if strings.HasPrefix(m, word) && !given && !slices.Contains(found, before+m) {
			found = append(found, before+m)
		}
	}
	return found
}

// completePolicy completes a policy word by word, and with the words of its own that the command takes.
func completePolicy(own ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return policies(begun, own...), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// completeCommand completes the command that run runs, and then file names.
func completeCommand(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || strings.ContainsRune(begun, filepath.Separator) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var found []string
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // PATH may name folders that do not exist
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), begun) {
				continue
			}
			if _, err := exec.LookPath(filepath.Join(folder, e.Name())); err == nil {
				found = append(found, e.Name())
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
}

// inQuotes changes the completion scripts for bash and zsh so that they complete inside of quotes, where policies are.
// The original scripts run the text typed so far as a command, which fails while a quote is open.
func inQuotes(completion *cobra.Command) {
	change := map[string][2]string{
		"bash": {
			"\n    local out directive\n", `
    if [[ ${cur} == [\"\']* && ${cur:1} != *"${cur:0:1}"* ]]; then
        local line
        while IFS='' read -r line; do
            [[ ${line} == "${cur:1}"* ]] && COMPREPLY+=("${line%%$'\t'*}")
        done < <(eval "${words[0]} __complete ${words[*]:1}${cur:0:1}" 2>/dev/null | sed '$d')
        compopt +o default -o nospace -o nosort
        return
    fi

    local out directive
`,
		},
		"zsh": {
			"    out=$(eval ${requestComp} 2>/dev/null)\n",
			"    out=$(eval ${requestComp} 2>/dev/null || eval \"${requestComp}\\\"\" 2>/dev/null || eval \"${requestComp}'\" 2>/dev/null)\n",
		},
	}
	for _, shell := range completion.Commands() {
		c, ok := change[shell.Name()]
		if !ok {
			continue
		}
		shell.RunE = func(sub *cobra.Command, _ []string) error {
			brief, err := sub.Flags().GetBool("no-descriptions")
			root := sub.Root()
			var script bytes.Buffer
			switch {
			case err != nil:
			case sub.Name() == "bash":
				err = root.GenBashCompletionV2(&script, !brief)
			case brief:
				err = root.GenZshCompletionNoDesc(&script)
			default:
				err = root.GenZshCompletion(&script)
			}
			if err != nil {
				return err
			}
			_, err = io.WriteString(root.OutOrStdout(), strings.Replace(script.String(), c[0], c[1], 1))
			return err
		}
	}
}
