package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The stored numbers are those that are computed, so nothing on the page depends on how fast a machine is.
func TestStored(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes all first numbers of the page")
	}
	check := func(name, want string) {
		t.Helper()
		file := filepath.Join("stored", name)
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := keptFiles.ReadFile("stored/" + name); !*update && (err != nil || string(got) != want) {
			t.Errorf("%s is not what is computed (%v): go test -run TestStored -update ./internal/lab", file, err)
		}
	}
	first, err := opening(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check("opening.html", first)
	for _, tab := range Tabs {
		page, err := computes[tab](t.Context(), First(tab))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		check("first-"+string(tab)+".json", string(text))
	}
}
