//go:build unix

package reconnecttest_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// BenchmarkCheckResume measures the CPU time of a check. A comparison is linear in the number of events, and a check is
// quadratic, because each event has its runs.
func BenchmarkCheckResume(b *testing.B) {
	for _, n := range []int{12, 100} {
		b.Run(fmt.Sprint(n, " events"), func(b *testing.B) {
			measureCPU(b, func(t *testing.T) { reconnecttest.CheckResume(t, numbers(n), faultless) })
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, run := range map[string]func() reconnecttest.Run[string]{
		"lines":              against(serveLines(12), following),
		"server-sent events": against(serveEvents(12, absolute), eventSource{}.run),
	} {
		b.Run(name, func(b *testing.B) {
			measureCPU(b, func(t *testing.T) { reconnecttest.Check(t, run) })
		})
	}
}

// measureCPU reports the CPU time of a test.
func measureCPU(b *testing.B, test func(t *testing.T)) {
	before := cpu(b)
	for b.Loop() {
		if !testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "Feed", F: test}}) {
			b.Fatal("the test has failed")
		}
	}
	b.ReportMetric((cpu(b)-before).Seconds()/float64(b.N), "cpu-s/op")
}

// cpu returns the CPU time of the process.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	check.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
