package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// figure is what one benchmark came to in one unit.
type figure struct {
	Name   string  `json:"name"` // without Benchmark and without the number of processors
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	Spread string  `json:"spread"` // the half width of the 95 % confidence interval, as benchstat gives it
}

var processors = regexp.MustCompile(`-\d+$`)

// medians has benchstat condense the benchmarks' output.
func medians(dir string, raw []byte) ([]figure, error) {
	file, err := os.CreateTemp("", "benchmarks-*.txt")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(raw); err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	out, err := command(dir, "go", "tool", "benchstat", "-format=csv", file.Name())
	if err != nil {
		return nil, err
	}
	return parse(out, filepath.Base(file.Name()))
}

// parse reads benchstat's CSV: for each unit a line that names it, then a line for each benchmark.
func parse(out []byte, file string) ([]figure, error) {
	var figures []figure
	unit := ""
	for line := range bytes.Lines(out) {
		fields, err := csv.NewReader(bytes.NewReader(line)).Read()
		switch {
		case err != nil || len(fields) < 3: // an empty line, or a key of the configuration
			continue
		case fields[0] == "" && fields[2] == "CI":
			unit = fields[1]
			continue
		case fields[0] == "" || fields[0] == "geomean" || strings.HasSuffix(fields[1], file):
			continue
		}
		median, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return nil, fmt.Errorf("benchstat's line %q: %w", line, err)
		}
		figures = append(figures, figure{processors.ReplaceAllString(fields[0], ""), unit, median, fields[2]})
	}
	if len(figures) == 0 {
		return nil, fmt.Errorf("benchstat found no benchmark in what the runs printed:\n%s", out)
	}
	return figures, nil
}
