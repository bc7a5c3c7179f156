// Command retryhttp puts retryhttp and hashicorp/go-retryablehttp through the same scenarios, on loopback, and prints
// what each made of them as a table.
//
//	cd benchmarks && GOWORK=off go run ./retryhttp
package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

func main() {
	if err := table(os.Stdout, scenarios()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// table runs all and prints a row for each.
func table(out io.Writer, all []scenario) error {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprint(w, "| scenario\t| retryhttp\t| go-retryablehttp\t|\n")
	fmt.Fprint(w, "|---\t|---\t|---\t|\n")
	for _, s := range all {
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t|\n", s.name, s.run(ours), s.run(theirs))
	}
	return w.Flush()
}
