// Command correctness runs retry libraries through hard cases, on virtual time, and prints the results as tables:
//
//	go run ./correctness                   prints them
//	go run ./correctness -o CORRECTNESS.md writes them
//
// The cases are delays that overflow, jitter at the cap, a cancellation and a deadline during a wait, and a policy that
// operations share. Each result links to the line of the library's code that causes it, in the version that was run.
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
	testing.Init() // synctest needs a *testing.T
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

// inBubble runs f as a test, and exits.
func inBubble(f func(t *testing.T)) {
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "correctness",
		F: func(t *testing.T) {
			f(t)
			if t.Failed() {
				return // package testing prints the reason
			}
			os.Exit(0)
		},
	}}, nil, nil)
}
