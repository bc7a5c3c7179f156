// Command correctness asks retry libraries the hard questions, on virtual time, and prints the answers as tables:
//
//	go run ./correctness                   prints them
//	go run ./correctness -o CORRECTNESS.md writes them
//
// Delays that overflow, jitter at the cap, a cancel and a deadline during a wait, a policy that two operations share.
// Each answer links the line of the library's code that makes it so, found in the very version that was asked.
package main

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

func main() {
	if name := os.Getenv(childVariable); name != "" {
		inBubble(func(t *testing.T) { child(t, name) })
	}
	out := flag.String("o", "", "the file to write, else standard output")
	testing.Init() // synctest belongs to tests; this program is one of one function
	flag.Parse()
	inBubble(func(t *testing.T) {
		text, err := document(t, million)
		if err == nil && *out != "" {
			err = os.WriteFile(*out, []byte(text), 0o644)
		} else if err == nil {
			fmt.Print(text)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "correctness:", err)
			os.Exit(1)
		}
	})
}

// inBubble has the testing package run f, and exits.
func inBubble(f func(t *testing.T)) {
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "correctness",
		F: func(t *testing.T) {
			f(t)
			if t.Failed() {
				return // testing says why
			}
			os.Exit(0)
		},
	}}, nil, nil)
}
