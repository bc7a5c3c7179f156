package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// allZombies reports whether the processes of a group have ended, and nobody has waited for them: so it is where
// process 1 does not, as in a container.
func allZombies(group int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return false
	}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended meanwhile
		}
		var state string
		var parent, of int
		rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
		if _, err := fmt.Sscan(rest, &state, &parent, &of); err == nil && of == group && state != "Z" && state != "X" {
			return false
		}
	}
	return true
}
