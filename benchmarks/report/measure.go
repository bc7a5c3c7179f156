package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// suite is one process of a round: some benchmarks of a package.
type suite struct {
	pkg       string
	bench     string // a pattern for -bench
	benchtime string
	long      bool // left out of a short plan
}

var allSuites = append([]suite{
	{pkg: "items", bench: ".", benchtime: "100ms"},
	{pkg: "resubscribe", bench: ".", benchtime: "100ms"},
	{pkg: "calls", bench: ".", benchtime: "100ms"},
}, waitingSuites()...)

// waitingSuites gives each of the waiting benchmarks a process of its own: what one of them leaves behind, the
// descriptors of ended goroutines above all, would be memory that the next one seems not to need.
func waitingSuites() (s []suite) {
	for _, items := range []int{10_000, 100_000, 1_000_000} {
		for _, way := range []string{"goroutine", "AfterFunc", "MapRetry"} {
			s = append(s, suite{
				pkg: "waiting", bench: fmt.Sprintf("^BenchmarkWaiting$/^%s$/^items=%d$", way, items), benchtime: "1x", long: items > 100_000,
			})
		}
	}
	return s
}

// ratioSuites is what the ratios need.
var ratioSuites = []suite{
	{pkg: "items", bench: "^BenchmarkItems$/^(plain|retried)$/^(loop|retrywhen|retrywhen-background)$", benchtime: "200ms"},
	{pkg: "resubscribe", bench: "^BenchmarkResubscribe$/^(loop|retrywhen-Retry|retrywhen-RetryWhen)$", benchtime: "200ms"},
	{pkg: "calls", bench: "^BenchmarkCall$/^(first-try|ten-failures)$/^(loop|retrywhen)$", benchtime: "200ms"},
	{pkg: "calls", bench: "^BenchmarkDelay(Parallel)?$/^(loop|retrywhen)$", benchtime: "200ms"},
}

type plan struct {
	suites  []suite
	rounds  int
	short   bool
	command string
}

// measure carries out the plan in the module at dir.
func measure(dir string, p plan) (*results, error) {
	temp, err := os.MkdirTemp("", "benchmarks")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	built := map[string]string{}
	for _, s := range p.suites {
		if built[s.pkg] == "" {
			built[s.pkg] = filepath.Join(temp, s.pkg+".test")
			if _, err := command(dir, "go", "test", "-c", "-o", built[s.pkg], "./"+s.pkg); err != nil {
				return nil, err
			}
		}
	}
	var raw bytes.Buffer
	began := time.Now()
	for round := range p.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d, %v\n", round+1, p.rounds, time.Since(began).Round(time.Second))
		for _, s := range p.suites {
			if s.long && p.short {
				continue
			}
			args := []string{"-test.run=^$", "-test.bench=" + s.bench, "-test.benchtime=" + s.benchtime, "-test.timeout=5m"}
			if p.short {
				args = append(args, "-test.short")
			}
			out, err := command(filepath.Join(dir, s.pkg), built[s.pkg], args...)
			if err != nil {
				return nil, err
			}
			raw.Write(out)
		}
	}
	r, err := newResults(dir, p)
	if err != nil {
		return nil, err
	}
	r.Figures, err = medians(dir, raw.Bytes())
	return r, err
}

// command runs a program in dir, and returns what it wrote to its standard output.
func command(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, errs.String())
	}
	return out, nil
}
