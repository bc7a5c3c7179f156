package reconnecttest

import (
	"errors"
	"testing"

	"github.com/retrywhen/retrywhen/prove"
)

// CheckTCP checks a client in real time, through a proxy in front of any server: for what no bubble can hold. It is
// prove.Target's Check with t: a finding fails t, unless it is known or target.OnFinding is set, which then gets it
// instead. A Known that is not found, and an error of the target's Check, always fail t. If the error matches
// [prove.ErrBusy], it checks again, up to three times, and then only logs findings.
func CheckTCP(t testing.TB, target prove.Target) Report {
	t.Helper()
	report, err := target.Check(t.Context())
	for tries := 1; tries < 3 && errors.Is(err, prove.ErrBusy); tries++ {
		report, err = target.Check(t.Context())
	}
	if err != nil {
		t.Errorf("reconnecttest: CheckTCP: %v", err)
	}
	for _, f := range report.Findings {
		switch {
		case f.Known != "" || errors.Is(err, prove.ErrBusy):
			t.Logf("reconnecttest: CheckTCP: %s: %s", f.Kind, f)
		case target.OnFinding == nil:
			t.Errorf("reconnecttest: CheckTCP: %s: %s", f.Kind, f)
		}
	}
	if err == nil {
		missing(t, "CheckTCP", report, target.Known)
	}
	return report
}
