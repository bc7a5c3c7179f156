// Command report runs the benchmarks of this module and says what came out.
//
//	report                     measures, and writes results.json, RESULTS.md and the README's charts
//	report -quick              measures less, and prints what RESULTS.md would say
//	report -check              measures the ratios only, and fails if one is past 1.3 times the committed one, three times in a row
//	report -render             writes RESULTS.md and the charts from results.json, and measures nothing
//
// The runs are interleaved: every benchmark once, in a process of its own package, then every benchmark again. The
// figures are the medians that benchstat gives.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	quick := flag.Bool("quick", false, "measure less, and print")
	check := flag.Bool("check", false, "compare the ratios with the committed ones")
	render := flag.Bool("render", false, "write the documents from results.json")
	rounds := flag.Int("rounds", 0, "how often each benchmark runs (default 8, with -quick 3)")
	dir := flag.String("dir", ".", "the benchmarks module's directory")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "report: %q is no flag, want none or one of -quick, -check, -render\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(*dir, *quick, *check, *render, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(dir string, quick, check, render bool, rounds int) error {
	stored := filepath.Join(dir, "results.json")
	switch {
	case rounds < 0:
		return fmt.Errorf("-rounds is %d, want at least 1", rounds)
	case render:
		r, err := load(stored)
		if err != nil {
			return err
		}
		return r.write(dir)
	case check:
		committed, err := load(stored)
		if err != nil {
			return err
		}
		return checkAgain(checks, func() (*results, error) {
			return measure(dir, plan{suites: ratioSuites, rounds: or(rounds, 8), command: "make bench-check"})
		}, committed, os.Stdout)
	case quick:
		r, err := measure(dir, plan{suites: allSuites, rounds: or(rounds, 3), short: true, command: "make bench-quick"})
		if err != nil {
			return err
		}
		fmt.Print(r.markdown())
		return nil
	}
	r, err := measure(dir, plan{suites: allSuites, rounds: or(rounds, 8), command: "make bench"})
	if err != nil {
		return err
	}
	if err := r.save(stored); err != nil {
		return err
	}
	return r.write(dir)
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
