// Command retryhttp runs retryhttp, hashicorp/go-retryablehttp and failsafe-go through the same scenarios, on loopback,
// and prints the results as a table.
//
//	cd benchmarks && GOWORK=off go run ./retryhttp
//	cd benchmarks && GOWORK=off go run ./retryhttp -nginx   # a crowd of clients at nginx's limit_req
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

func main() {
	limited := flag.Bool("nginx", false, "send a crowd of clients to nginx's limit_req")
	flag.Parse()
	var err error
	if *limited {
		err = nginx(context.Background(), os.Stdout)
	} else {
		err = table(os.Stdout, scenarios())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// table runs all scenarios and prints a row for each.
func table(out io.Writer, all []scenario) error {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprint(w, "| scenario\t| retryhttp\t| go-retryablehttp\t| failsafe-go\t|\n")
	fmt.Fprint(w, "|---\t|---\t|---\t|---\t|\n")
	for _, s := range all {
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %s\t|\n", s.name, s.run(ours), s.run(hashicorp), s.run(failsafe))
	}
	return w.Flush()
}
