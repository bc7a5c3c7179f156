package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/prove"
)

// The commands that measure prints take their policy, for each form that it infers. One run is enough to see that.
func TestMeasureCommands(t *testing.T) {
	for _, policy := range []string{
		"constant d=0s", "constant d=0s limit=3", "constant d=1s attempttimeout=5s", "constant d=1m30s jitter=full limit=2",
		"exponential base=1s factor=2 jitter=default limit=4", "exponential base=123ms factor=1.6 cap=1m jitter=deviation:0.5 limit=7 attempttimeout=2.5s",
		"exponential base=200ms factor=2 jitter=uniform:1:1.25 limit=3", "linear d=1s cap=5s jitter=equal limit=9", "quadratic d=100ms limit=5",
		"fibonacci d=1s jitter=deviation:1", "table delays=0s,2s,4s,8s limit=4", "decorrelated base=100ms limit=6 attempttimeout=1s",
	} {
		t.Run(policy, func(t *testing.T) {
			var out bytes.Buffer
			if err := writeMeasured(&out, prove.Measured{Policy: policy}, nil); err != nil {
				t.Fatal(err)
			}
			for command, flags := range map[string][]string{"show": nil, "sim overload": {"--runs=1", "--stall=100ms"}} {
				_, rest, _ := strings.Cut(out.String(), "\n  retrywhen "+command+" ")
				line, _, _ := strings.Cut(rest, "\n")
				printed, err := strconv.Unquote(line)
				if err != nil || printed != policy {
					t.Fatalf("%s takes %s, want %q", command, line, policy)
				}
				got, _, err := inProcess(t, append(append(strings.Fields(command), flags...), printed)...)
				if err != nil || !strings.Contains(got, policy) {
					t.Errorf("%s: %v\n%s", command, err, got)
				}
			}
		})
	}
}
