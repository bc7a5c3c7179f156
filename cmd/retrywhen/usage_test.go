package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
)

func TestWrongUsage(t *testing.T) {
	for line, want := range map[string]string{
		"bogus":                                         `no command "bogus", want completion, lab, prove, run, show, sim`,
		"shwo x":                                        `no command "shwo"; did you mean show? want completion, lab, prove, run, show, sim`,
		"help bogus":                                    `no command "bogus", want completion, lab, prove, run, show, sim`,
		"help sim hord":                                 `sim: no command "hord"; did you mean herd? want boundary, choose, herd, occ, outage, overload`,
		"completion zhs":                                `completion: no command "zhs"; did you mean zsh? want bash, fish, powershell, zsh`,
		"--bogus":                                       "unknown flag: --bogus, see retrywhen --help",
		"-x":                                            "unknown shorthand flag: 'x' in -x, see retrywhen --help",
		"show --retires 3 sidekiq":                      "show: unknown flag: --retires; did you mean --retries? see retrywhen show --help",
		"show sidekiq --retries":                        "show: flag needs an argument: --retries, see retrywhen show --help",
		"show sidekiq -n x":                             `show: --retries is "x", want a whole number`,
		"run --within 5 -- true":                        `run: --within is "5", want a duration, as in 500ms or 1m30s`,
		"run --on-exit x -- true":                       `run: --on-exit is "x", want exit codes from 1 to 255 separated by commas, as in 1,64-78, or "all but" these`,
		"sim herd --seed -1":                            `herd: --seed is "-1", want a whole number, at least 0`,
		"sim outage --slots=x":                          `outage: --slots is "x", want true or false`,
		"sim herd --place=":                             `herd: --place is "", want one-process, by-key or by-ordinal`,
		"sim choose --place=x":                          `choose: --place is "x", want one-process, by-key or by-ordinal`,
		"sim outage --budget=":                          `outage: --budget is "": budget has no value, want as in "budget=10,1,0.1"`,
		"sim overload --shape=":                         `overload: --shape is "", want constant, exponential, or log-normal:CV as in log-normal:0.5`,
		"sim overload --failures 101%":                  `overload: --failures is "101%", want a share from 0% to 100%, as in 1% or 0.01`,
		"sim overload --load 0":                         "overload: --load is 0, want more than 0",
		"sim overload --runs 0":                         "overload: --runs is 0, want 1 to 100000",
		"sim boundary --loads 0":                        "boundary: --loads is 0, want more than 0",
		"sim overload --stall 2562047h":                 "overload: --load times the simulation end is 7.378695608e+11, want at most 1073741824 operations",
		"show sidekiq -n 10001":                         "show: --retries is 10001, want 1 to 10000",
		"sim herd --runs 1000001":                       "herd: --runs is 1000001, want 0 to 1000000",
		"sim occ -c 10000001":                           "occ: --clients is 10000001, want 1 to 10000000",
		"sim occ --points 1001":                         "occ: --points is 1001, want 1 to 1000",
		"sim boundary --points 0":                       "boundary: --points is 0, want 1 to 1000",
		"sim boundary --points 1001":                    "boundary: --points is 1001, want 1 to 1000",
		"sim overload --runs 100001":                    "overload: --runs is 100001, want 1 to 100000",
		"lab -p 65536":                                  "lab: --port is 65536, want 0 to 65535",
		"lab -p -1":                                     "lab: --port is -1, want 0 to 65535",
		"show sidekiq --output=":                        `show: --output is "", want a name that ends in .svg or .html`,
		"sim choose --outages x":                        `choose: --outages is "x", want durations separated by commas, as in 5s,1m`,
		"sim overload --load x":                         `overload: --load is "x", want a number`,
		"sim outage --budget x":                         `outage: --budget is "x": "x" is not a budget, want as in "budget=10,1,0.1": capacity, cost, refund, and optionally the tokens that flow in each second`,
		"lab -p 9223372036854775808":                    `lab: --port is "9223372036854775808", want a whole number`,
		"prove --server x:1":                            "prove: no command given, want one after --, as in: retrywhen prove --server localhost:6379 -- python3 client.py {addr}",
		"prove -- true":                                 `prove: --server is "", want host:port, as in localhost:6379`,
		"prove --server x -- true":                      `prove: --server is "x", want host:port, as in localhost:6379`,
		"prove --server x:1 --within 0s -- true":        "prove: --within is 0s, want more than 0",
		"prove --server x:1 --places 0 -- true":         "prove: --places is 0, want at least 1",
		"prove --server x:1 --events 3 -- true":         "prove: --events and --every are for --event, which is not given",
		"prove --server x:1 --values ( -- true":         "prove: --values: error parsing regexp: missing closing ): `(`",
		"prove --server x:1 --ways cut,silense -- true": `prove: --ways has "silense"; did you mean silence? want some of cut,amid,end,silence,refuse,twice`,
		"prove --server x:1 --known lots=x -- true":     `prove: --known is "lots=x"; did you mean lost? want kind=why with a kind of lost, repeated, foreign, order, hot, silent, away, gave-up, ended, late, open, past-the-proxy`,
		"prove --server x:1 --known lost -- true":       `prove: --known is "lost", want kind=why with a kind of lost, repeated, foreign, order, hot, silent, away, gave-up, ended, late, open, past-the-proxy`,
	} {
		out, _, err := inProcess(t, strings.Fields(line)...)
		if fmt.Sprint(err) != want || out != "" {
			t.Errorf("%s: %v\n%s\nwant %s", line, err, out, want)
		}
	}
}

func TestHelpIsForAllCommands(t *testing.T) {
	for _, line := range []string{"", "help", "help run", "help sim", "help sim herd", "sim", "completion", "help completion bash"} {
		out, _, err := inProcess(t, strings.Fields(line)...)
		if err != nil || !strings.Contains(out, "Usage:") {
			t.Errorf("%q: %v\n%s", line, err, out)
		}
	}
}

func TestVersion(t *testing.T) {
	out, _, err := inProcess(t, "--version")
	if err != nil || !strings.HasPrefix(out, "retrywhen version ") || !strings.Contains(out, runtime.Version()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// A result has its command line, so a flag's value is printed as it is read.
func TestFlagsPrintWhatTheyRead(t *testing.T) {
	for text, value := range map[string]pflag.Value{
		"none": new(limitFlag), "5": new(limitFlag), "success": new(condition), "failure": new(condition), "42": new(condition),
		"last": new(outputs), "by-key": new(placement), "7.5%": new(percentage),
		"1,75": new(exitCodes), "all but 2,64-78": new(exitCodes),
		"exponential": new(shape), "log-normal:0.7": new(shape),
	} {
		if err := value.Set(text); err != nil || value.String() != text {
			t.Errorf("%s is read as %s, %v", text, value, err)
		}
	}
}

func TestTheSmallestIsAllowed(t *testing.T) {
	for _, line := range []string{"show sidekiq -n 1", "sim herd sidekiq -j 1 -n 1 --runs 1", "sim occ sidekiq -c 1 --points 1 --runs 1",
		"sim outage sidekiq -c 1 --capacity 1", "sim overload sidekiq --load 9 --runs 1", "sim boundary sidekiq --points 1 --runs 1",
		"sim choose -c 1 --capacity 1 --processes 1 --runs 1 --outages 0s"} {
		if out, _, err := inProcess(t, strings.Fields(line)...); err != nil || out == "" {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestAWriteThatFailsIsReported(t *testing.T) {
	for _, line := range []string{"", "--help", "help", "help sim", "sim", "sim herd --help", "--version", "completion bash",
		"show sidekiq", "show sidekiq --json"} {
		c := newCommand(fullDisk{}, io.Discard)
		c.SetArgs(strings.Fields(line))
		if err := execute(t.Context(), c); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%q: %v", line, err)
		}
	}
}
