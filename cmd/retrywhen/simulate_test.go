package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

// What docs/choosing.md says of gRPC's throttle is what its command computes.
func TestGRPCInManyProcesses(t *testing.T) {
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	document, err := os.ReadFile("../../docs/choosing.md")
	must(t, err)
	out, _, err := inProcess(t, "sim", "overload", "--runs", "60", "--json", "grpc processes=200")
	var got struct {
		Strategies []struct{ Runs sim.BoundaryPoint }
	}
	if err != nil || json.Unmarshal([]byte(out), &got) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := got.Strategies[0].Runs
	want := fmt.Sprintf("in %d of %d runs after %.0f to %.0f s, and in %d later (`retrywhen sim overload --runs 60 \"grpc processes=200\"`)",
		r.Recovered, r.Runs, r.After.Least.Seconds(), r.After.Most.Seconds(), r.Late)
	if !strings.Contains(strings.Join(strings.Fields(string(document)), " "), want) {
		t.Errorf("docs/choosing.md does not say %q", want)
	}
}

// A file that cannot be written whole is not written at all.
func TestWriteFileIsWholeOrNothing(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "x.svg")
	err := writeFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, errors.ErrUnsupported)
	})
	if left, _ := os.ReadDir(folder); !errors.Is(err, errors.ErrUnsupported) || len(left) > 0 {
		t.Errorf("%v, %v: want the error, and no file", err, left)
	}
	must(t, writeFile(name, func(w io.Writer) error { _, err := io.WriteString(w, "all"); return err }))
	left, _ := os.ReadDir(folder)
	info, err := os.Stat(name)
	if text, _ := os.ReadFile(name); err != nil || string(text) != "all" || len(left) != 1 || info.Mode().Perm()&0o444 != 0o444 {
		t.Errorf("%q, %v, %v, %v", text, left, info.Mode(), err)
	}
}

// A network of 0 s is valid: no client ever conflicts with another.
func TestSimOCCOnANetworkThatTakesNoTime(t *testing.T) {
	out, _, err := inProcess(t, "sim", "occ", "--network=0s", "--network-sd=0s", "--clients=10", "--points=1", "--runs=1", "--json", "none: constant d=0s")
	var o struct{ Points []sim.SweepPoint }
	if err != nil || json.Unmarshal([]byte(out), &o) != nil || len(o.Points) != 1 || o.Points[0].Calls.Mean != 10 || o.Points[0].End.Most != 0 {
		t.Errorf("got %s, %v, want 10 calls in no time", out, err)
	}
}

func TestSimText(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
	}{
		"herd":     {[]string{"herd", "--runs=3", "all at once: constant d=5s", "apart: linear d=2s tiled"}, []string{"all at once", "apart", "peak/mean", "█", "/s  "}},
		"occ":      {[]string{"occ", "--runs=2", "--clients=20"}, []string{"decorrelated", "mean / p99 of 2 runs", "Time until all are done"}},
		"outage":   {[]string{"outage", "--clients=100", "--capacity=10", "--down=20s"}, []string{"Attempts: per client, on average.", "constant: attempts", "Outage: 20s", "▲"}},
		"overload": {[]string{"overload", "--horizon=2m"}, []string{"recovers in 0 of 10 runs", "10 of 10", "wasted", "▼", "▲"}},
		"timeout":  {[]string{"overload", "--horizon=45s", "--timeout=2s", "--load=9"}, []string{"10 of 10", "at once", "wasted"}},
		"limits":   {[]string{"outage", "--clients=100", "--limit=2", "--return=10s", "--budget=10,1,0.1,1", "linear d=1s"}, []string{"given up"}},
	}
	for name, test := range tests {
		for _, width := range []int{80, 40} {
			t.Run(fmt.Sprint(name, " ", width), func(t *testing.T) {
				t.Setenv("COLUMNS", strconv.Itoa(width))
				out, errOut, err := inProcess(t, append([]string{"sim"}, test.args...)...)
				if err != nil || errOut != "" {
					t.Fatalf("%v %s", err, errOut)
				}
				for _, want := range test.want {
					if !strings.Contains(out, want) {
						t.Errorf("no %q in\n%s", want, out)
					}
				}
				for line := range strings.Lines(out) {
					if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
						t.Errorf("a line of %d letters on a terminal of %d: %s", n, width, line)
					}
				}
			})
		}
	}
}

func TestSimRefuses(t *testing.T) {
	tests := map[string]refusal{
		"no such":          {[]string{"hurd"}, []string{`sim: no command "hurd"; did you mean herd? want boundary, choose, herd, occ, outage, overload`}},
		"jobs":             {[]string{"herd", "-j", "0"}, []string{"herd: --jobs is 0, want 1 to 100000000"}},
		"too many":         {[]string{"herd", "-j", "100000000", "-n", "2"}, []string{"--jobs times --retries is 200000000, want at most 100000000"}},
		"retries":          {[]string{"herd", "-n", "0"}, []string{"--retries is 0, want 1 to"}},
		"runs":             {[]string{"herd", "--runs", "-1"}, []string{"--runs is -1, want 0 to 1000000"}},
		"a policy":         {[]string{"herd", "linear d=1"}, []string{`"d=1"`, "has no unit"}},
		"no retry":         {[]string{"herd", "linear d=1s limit=0"}, []string{"allows no retry, want a limit of 1 or more"}},
		"horizon":          {[]string{"herd", "--horizon=-1s", "sidekiq"}, []string{"--horizon is -1s"}},
		"occ clients":      {[]string{"occ", "-c", "0"}, []string{"--clients is 0, want 1 to 10000000"}},
		"occ points":       {[]string{"occ", "--points", "0"}, []string{"--points is 0, want 1 to 1000"}},
		"occ runs":         {[]string{"occ", "--runs", "0"}, []string{"--runs is 0, want 1 to"}},
		"occ network":      {[]string{"occ", "--network", "2h"}, []string{"--network is 2h0m0s, want 0s to 1h0m0s"}},
		"outage clients":   {[]string{"outage", "-c", "-1"}, []string{"--clients is -1, want 1 to"}},
		"outage capacity":  {[]string{"outage", "--capacity", "0"}, []string{"--capacity is 0, want 1 to"}},
		"outage budget":    {[]string{"outage", "--budget", "1,2"}, []string{`--budget is "1,2": `, "want as in \"budget=10,1,0.1\""}},
		"budget's number":  {[]string{"outage", "--budget", "NaN,1,1"}, []string{`--budget is "NaN,1,1": capacity is NaN, want a finite number`}},
		"a folder":         {[]string{"occ", "-o", filepath.Join(t.TempDir(), "no", "x.svg")}, []string{"occ: --output is", "there is no"}},
		"overload service": {[]string{"overload", "--service=0s"}, []string{"--service is 0s, want 1ns to"}},
		"overload stall":   {[]string{"overload", "--stall=-1s"}, []string{"--stall is -1s, want at least 0"}},
		"negative timeout": {[]string{"overload", "--timeout=-1s"}, []string{"overload: --timeout is -1s, want at least 0"}},
		"outage limit":     {[]string{"outage", "--limit=-1"}, []string{"--limit is -1, want at least 1"}},
		"outage limit 0":   {[]string{"outage", "--limit=0"}, []string{"--limit is 0, want at least 1"}},
		"choose clients":   {[]string{"choose", "--clients=0"}, []string{"choose: --clients is 0, want 1 to"}},
		"choose outages":   {[]string{"choose", "--outages=-1s"}, []string{"--outages", "want at least 0"}},
		"choose wait":      {[]string{"choose", "--wait=-1s"}, []string{"--wait is -1s, want at least 0"}},
		"more processes":   {[]string{"outage", "--clients=7", "--processes=8"}, []string{"--processes is 8, want 0 to 7"}},
		"choose processes": {[]string{"choose", "--clients=7", "--processes=8"}, []string{"--processes is 8, want 0 to 7"}},
		"place of each":    {[]string{"herd", "--place=process-each"}, []string{`--place is "process-each", want one-process or by-ordinal`}},
		"outage no retry":  {[]string{"outage", "linear d=1s limit=0"}, []string{"allows no retry, want a limit of 1 or more"}},
	}
	refuses(t, "sim", tests)
}

// A stopped run writes the result so far.
func TestSimEndedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"herd", "occ", "outage", "overload", "choose"} {
		var out, errOut strings.Builder
		c := newCommand(&out, &errOut)
		c.SetArgs([]string{"sim", name, "--json"})
		err := c.ExecuteContext(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the end of its context", name, err)
		}
		if !strings.Contains(errOut.String(), "the result so far follows") || out.Len() == 0 {
			t.Errorf("%s: %q, then %q", name, errOut.String(), out.String())
		}
	}
}

func TestSimHorizon(t *testing.T) {
	for _, args := range [][]string{{"herd", "--runs=1", "--horizon=12s", "constant d=5s"}, {"outage", "--clients=10", "--down=1m", "--horizon=12s", "constant d=5s"}} {
		out, errOut, err := inProcess(t, append([]string{"sim"}, args...)...)
		if err != nil || out == "" || !strings.Contains(errOut, "the horizon is reached") {
			t.Errorf("%v: %v\n%s%s", args, err, errOut, out)
		}
	}
}

// If there is no retry before the horizon, there are no figures and no points.
func TestSimHorizonBeforeTheFirst(t *testing.T) {
	for name, want := range map[string]string{"herd": "no figures: the run stopped before", "occ": "no points: the run stopped before"} {
		out, _, err := inProcess(t, "sim", name, "--horizon=1ns", "constant d=5s")
		if err != nil || !strings.HasPrefix(out, want) || strings.Contains(out, "│") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// The default horizon and the end of the time axis do not overflow.
func TestSimOutageOfCenturies(t *testing.T) {
	for _, form := range [][]string{{}, {"--json"}, {"-o", filepath.Join(t.TempDir(), "x.svg")}} {
		args := append([]string{"sim", "outage", "--clients=3", "--down=2562047h", "constant d=100000h"}, form...)
		out, _, err := inProcess(t, args...)
		if err != nil || out == "" && form[0] != "-o" {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

func TestSimOutageThatTakesNoTime(t *testing.T) {
	out, errOut, err := inProcess(t, "sim", "outage", "constant d=0s") // exit code 2
	if !errors.Is(err, sim.ErrStuck) || errOut != "" || !strings.Contains(err.Error(), "retries take no time") || !strings.Contains(out, "want a policy that waits") {
		t.Errorf("%v %s\n%s", err, errOut, out)
	}
}

// The output has the recommended policy as text and in Go, and there is a picture of all policies.
func TestSimChooseAsJSONAndSVG(t *testing.T) {
	out, _, err := inProcess(t, "sim", "choose", "--clients=100", "--runs=1", "--wait=0", "--place=by-ordinal", "--json")
	var got struct {
		sim.Choices
		Policies []struct{ Use, Policy, Go string }
	}
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || got.Recommended < 0 || got.Choices.Choices[got.Recommended].Outages[0].Refusals.Mean != 0 || len(got.Policies) != 2 ||
		got.Policies[0].Use != "request" || got.Policies[0].Policy != "exponential base=100ms factor=2 cap=2s jitter=full limit=3 attempttimeout=1s budget=10,1,0.1" ||
		got.Policies[1].Use != "job" || got.Policies[1].Policy != "constant d=9.2s tiled place=by-ordinal" || !strings.Contains(got.Policies[1].Go, "Tiled().Ordinal(ordinal)") {
		t.Errorf("%v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "x.svg")
	_, _, err = inProcess(t, "sim", "choose", "--clients=100", "--runs=1", "quick: constant d=100ms", "tiled: linear d=1s tiled", "-o", file)
	must(t, err)
	svg, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(svg), "NaN") || !strings.Contains(string(svg), "job: linear d=1s tiled") {
		t.Errorf("%v\n%s", err, svg)
	}
}

// A backoff that does not wait has no peak over the mean: all its retries come at once.
func TestSimHerdThatDoesNotWait(t *testing.T) {
	out, _, err := inProcess(t, "sim", "herd", "--runs=2", "hammer: constant d=0s", "linear d=1s")
	if err != nil || !strings.Contains(out, "all at once     -") {
		t.Errorf("%v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "x.svg")
	_, _, err = inProcess(t, "sim", "herd", "--runs=2", "hammer: constant d=0s", "-o", file)
	must(t, err)
	if svg, err := os.ReadFile(file); err != nil || !strings.Contains(string(svg), "hammer: all at once") {
		t.Errorf("%v\n%s", err, svg)
	}
}

// JSON has no value for each retry, call or client.
func TestSimJSONIsSmall(t *testing.T) {
	for _, args := range [][]string{
		{"herd", "--jobs=20000", "--runs=1", "--retries=2", "linear d=1s"}, {"occ", "--clients=1000", "--points=1", "--runs=1", "full: exponential base=10ms factor=2 jitter=full"},
		{"outage", "--clients=20000", "--capacity=5000", "--down=5s", "linear d=1s"},
	} {
		args = append([]string{"sim"}, args...)
		if short, _, err := inProcess(t, append(args, "--json")...); err != nil || len(short) > 10_000 {
			t.Errorf("%v: %v, %d bytes", args, err, len(short))
		}
	}
}

// The bar is drawn at most ten times a second, and is removed at the end.
func TestProgress(t *testing.T) {
	t.Setenv("COLUMNS", "32")
	var out strings.Builder
	synctest.Test(t, func(*testing.T) {
		p := progress{out: &out}
		draw := p.of("a policy")
		draw(1, 8)
		draw(4, 8)
		time.Sleep(100 * time.Millisecond)
		draw(8, 8)
		p.clear()
		p.clear()
	})
	const start = "\r\x1b[K"
	if got, want := out.String(), start+"a policy  12 % [=              ]"+start+"a policy 100 % [===============]"+start; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if new(progress).of("a policy") != nil {
		t.Error("progress is reported where there is no terminal")
	}
	var lines strings.Builder
	p := progress{out: &lines, lines: true}
	for done := range int64(101) {
		p.of("boundary")(done, 100)
	}
	if got := lines.String(); strings.Count(got, "\n") != 10 || !strings.HasPrefix(got, "retrywhen: boundary: 10 %\n") || strings.Contains(got, "\r") {
		t.Errorf("in a pipe: %q", got)
	}
	for wide, want := range map[int]string{28: "é  50 % [=========         ]", 10: "é  50 % [==  ]"} {
		if got := progressLine("é", 0.5, wide); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
