package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// raw is the output of benchmarks: the values of each benchmark, by name and unit, and the lines of configuration.
type raw struct {
	config map[string]string
	names  []string // in the order measured, without "Benchmark" and the number of processors
	values map[string]map[string][]float64
}

func read(r io.Reader) (*raw, error) {
	out := &raw{config: map[string]string{}, values: map[string]map[string][]float64{}}
	lines := benchfmt.NewReader(r, "bench.txt")
	for lines.Scan() {
		result, ok := lines.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		for _, c := range result.Config {
			out.config[c.Key] = string(c.Value)
		}
		name := string(result.Name)
		if _, parts := result.Name.Parts(); len(parts) > 0 && parts[len(parts)-1][0] == '-' { // the number of processors
			name = strings.TrimSuffix(name, string(parts[len(parts)-1]))
		}
		if out.values[name] == nil {
			out.values[name] = map[string][]float64{}
			out.names = append(out.names, name)
		}
		for _, v := range result.Values {
			out.values[name][v.Unit] = append(out.values[name][v.Unit], v.Value)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(out.names) == 0 {
		return nil, fmt.Errorf("no benchmark, want the output of go test -bench")
	}
	return out, nil
}

// summary returns the median of a benchmark's values in a unit, with its 95 % confidence interval.
func (r *raw) summary(name, unit string) (benchmath.Summary, bool) {
	values := r.values[name][unit]
	if len(values) == 0 {
		return benchmath.Summary{}, false
	}
	return summaryOf(values), true
}

func summaryOf(values []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), 0.95)
}

// under returns the benchmarks whose names begin with the prefix, the smallest in the unit first.
func (r *raw) under(prefix, unit string) []string {
	names := slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	slices.SortStableFunc(names, func(a, b string) int {
		x, _ := r.summary(a, unit)
		y, _ := r.summary(b, unit)
		return cmp.Compare(x.Center, y.Center)
	})
	return names
}
