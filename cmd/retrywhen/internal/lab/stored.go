package lab

import (
	"embed"
	"encoding/json"
)

// keptFiles are the page's opening and the numbers of each tab's first values, so that the page has them at once on a
// slow machine. Computing them takes a minute: go test -run TestStored -update writes them.
//
//go:embed stored
var keptFiles embed.FS

// stored returns numbers of a file, for encoding/json.
func stored(name string) (any, error) {
	text, err := keptFiles.ReadFile("stored/" + name)
	return json.RawMessage(text), err
}
