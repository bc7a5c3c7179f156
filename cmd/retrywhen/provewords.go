package main

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/suggest"
	"github.com/retrywhen/retrywhen/prove"
)

// placeholder is a word in braces, but not that of a shell's variable.
var placeholder = regexp.MustCompile(`\$?\{[A-Za-z]+\}`)

// placeholders are those that are replaced in all commands; {n} is replaced in --event too.
var placeholders = []string{"addr", "host", "port", "run", "server"}

// words returns what replaces the placeholders in the commands of a run, and its environment. n is the number of an
// event, or 0.
func words(r prove.Run, n int) (func(string) string, []string) {
	host, port, _ := net.SplitHostPort(r.Addr)
	all := map[string]string{"{addr}": r.Addr, "{host}": host, "{port}": port, "{run}": r.Name, "{server}": r.Server}
	env := []string{"PYTHONUNBUFFERED=1", "RETRYWHEN_ADDR=" + r.Addr, "RETRYWHEN_HOST=" + host, "RETRYWHEN_PORT=" + port,
		"RETRYWHEN_RUN=" + r.Name, "RETRYWHEN_SERVER=" + r.Server}
	if n > 0 {
		all["{n}"] = strconv.Itoa(n)
	}
	replace := func(text string) string {
		return placeholder.ReplaceAllStringFunc(text, func(word string) string {
			if with, ok := all[word]; ok {
				return with
			}
			return word
		})
	}
	return replace, append(os.Environ(), env...)
}

// misspelt returns an error for a word in braces that is nearly one of the placeholders, which other says in words too.
// Other ones are text.
func misspelt(verb string, placeholders []string, other string, texts ...string) error {
	for _, text := range texts {
		for _, word := range placeholder.FindAllString(text, -1) {
			if word[0] == '$' || slices.Contains(placeholders, word[1:len(word)-1]) {
				continue
			}
			if near := suggest.Within(2, word[1:len(word)-1], placeholders); near != "" {
				return fmt.Errorf("%s: there is no %s; did you mean {%s}? Placeholders are {%s}%s", verb, word, near, strings.Join(placeholders, "}, {"), other)
			}
		}
	}
	return nil
}
