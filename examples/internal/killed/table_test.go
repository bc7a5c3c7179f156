package killed_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
)

// Each recipe has a row, and each row a test that checks it, also if it needs a server and runs at night.
func TestTable(t *testing.T) {
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	text, err := os.ReadFile("../../README.md")
	check.Must(t, err)
	_, table, _ := strings.Cut(string(text), "\n## Killed, and started again\n")
	table, _, _ = strings.Cut(table, "\n## ")
	// They store nothing, or their tests break connections only.
	has := map[string]bool{"endpoint": true, "kafkagroup": true, "nostr": true, "poller": true, "oauth": true, "kubernetes": true, "subscriptions": true, "upload": true, "webhook": true, "internal": true}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| \[(\w+)\]\(([\w/]+)\).*`).FindAllStringSubmatch(table, -1) {
		system, recipe, folder := row[1], row[2], row[3]
		has[recipe] = true
		tests, err := filepath.Glob("../../" + folder + "/*_test.go")
		check.Must(t, err)
		checked, nightly := false, false
		for _, file := range tests {
			text, err := os.ReadFile(file)
			check.Must(t, err)
			checked = checked || strings.Contains(string(text), `"`+system+`"`)
			nightly = nightly || strings.Contains(string(text), `/recipes/internal/debian"`)
		}
		if strings.Contains(row[0], killed.Nightly) != nightly {
			t.Errorf("the test of %q needs a server: %t; the row says otherwise", system, nightly)
		}
		if !checked {
			t.Errorf("no test in %s checks the row %q", folder, system)
		}
	}
	recipes, err := os.ReadDir("../../recipes")
	check.Must(t, err)
	for _, recipe := range recipes {
		if recipe.IsDir() && !has[recipe.Name()] {
			t.Errorf("%s has no row", recipe.Name())
		}
	}
}

func TestRange(t *testing.T) {
	for _, test := range []struct {
		n    int
		cell string
		is   bool
	}{
		{0, "0", true}, {1, "0", false},
		{90, "90: an answer begins again", true}, {89, "90: an answer begins again", false},
		{9, "10 to 40", false}, {10, "10 to 40", true}, {40, "10 to 40", true}, {41, "10 to 40", false},
		{9, "10 or more", false}, {10, "10 or more", true}, {1000, "10 or more", true},
	} {
		if got := killed.Range(test.n, test.cell); (got == test.cell) != test.is {
			t.Errorf("%d in the cell %q: got %q", test.n, test.cell, got)
		}
	}
}
