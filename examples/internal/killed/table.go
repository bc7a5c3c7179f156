package killed

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/examples/internal/check"
)

// Nightly begins the command of a row whose test needs a server.
const Nightly = "RETRYWHEN_NIGHTLY=1 "

// Row fails the test unless the table of examples/README.md has this row: what was killed and how often, the events, and
// how many were lost and repeated.
func Row(t *testing.T, system string, kills, events any, lost int, repeated string) {
	t.Helper()
	dir, err := os.Getwd()
	check.Must(t, err)
	root := dir
	document, err := os.ReadFile(filepath.Join(root, "examples", "README.md"))
	for os.IsNotExist(err) && root != filepath.Dir(root) {
		root = filepath.Dir(root)
		document, err = os.ReadFile(filepath.Join(root, "examples", "README.md"))
	}
	check.Must(t, err)
	folder := filepath.ToSlash(strings.TrimPrefix(dir, filepath.Join(root, "examples")+string(filepath.Separator)))
	row := fmt.Sprintf("| %s | [%s](%s) | %v | %v | %d | %s | `go test -v -run Killed ./examples/%[3]s` |", system, filepath.Base(dir), folder, kills, events, lost, repeated)
	t.Log(row)
	if rows := strings.ReplaceAll(string(document), "`"+Nightly, "`"); !strings.Contains(rows, "\n"+row+"\n") {
		t.Errorf("examples/README.md lacks the row\n%s", row)
	}
}

// Range returns what a cell says of a number, as "0", "10 to 40" or "10 or more", or the number if that is not so.
func Range(n int, cell string) string {
	var least, most int
	switch read, _ := fmt.Sscanf(cell, "%d to %d", &least, &most); {
	case strings.Contains(cell, " or more"):
		most = math.MaxInt
	case read == 1:
		most = least
	}
	if n < least || n > most {
		return fmt.Sprint(n)
	}
	return cell
}
