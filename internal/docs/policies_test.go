package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// The table of the words is made from retry.Words, and every curve has a row.
func TestPoliciesHasAllWords(t *testing.T) {
	text, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| word | in Go | meaning |\n|---|---|---|\n")
	for _, w := range retry.Words() {
		word := backoff.Word{Name: w.Name, Value: w.Example}
		said, _ := retry.Describe(word, strings.Clone)
		code, _ := retry.Describe(word, func(part string) string {
			if _, err := time.ParseDuration(part); err == nil {
				return "d"
			}
			return part
		})
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", w, code.Go, said.Sentence)
	}
	if !strings.Contains(string(text), "\n\n"+table.String()+"\n") {
		t.Errorf("policies.md does not have the table\n%s", table.String())
	}
	for _, c := range backoff.Curves() {
		_, row, found := strings.Cut(string(text), "\n| `"+c.Name)
		form, _, _ := strings.Cut(row, "`")
		for _, p := range c.Parameters {
			found = found && strings.Contains(form, " "+p+"=")
		}
		if !found {
			t.Errorf("policies.md has no row of %s with %q", c.Name, c.Parameters)
		}
	}
}
