package prove

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// If the machine stood still in the waits of a program, that may not wait at all, nobody knows whether it is hot.
func TestCalls_Busy(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	var m *measuring
	calls := Calls{NoJitter: true, Within: 3 * time.Second, Client: func(ctx context.Context, r Run) (string, error) {
		transport := &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: 2500 * time.Millisecond}
		for n := 1; ; n++ {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.Addr, nil)
			if err != nil {
				return "", err
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				return "", err
			}
			_ = resp.Body.Close()
			switch {
			case resp.StatusCode == http.StatusOK:
				return "ok", nil
			case resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "" || n == 5:
				return "", errors.New(resp.Status)
			case n > 2: // as if nothing ran for this time
				time.Sleep(60 * time.Millisecond)
				m.clock.mu.Lock()
				m.clock.at = m.clock.at.Add(-60 * time.Millisecond)
				m.clock.mu.Unlock()
			}
		}
	}}
	var measured Measured
	var err error
	for range 60 { // on a busy machine, until the program's other waits are short
		m = calls.prepare()
		measured, err = m.measure(t.Context())
		if err != nil && !strings.Contains(err.Error(), "it did nothing for the check") {
			break
		}
	}
	want := "prove: the machine was too busy: it made waits longer, which may hide a fault of the kind hot; "
	if !errors.Is(err, ErrBusy) || !strings.HasPrefix(err.Error(), want) || len(measured.Findings) > 0 || len(measured.Rows) < 30 {
		t.Errorf("got %v, %+v, want %s", err, measured, want)
	}
}
