package prove

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// askUpTo is a client that asks so often while the answer is 503, and waits in between.
func askUpTo(most int, wait func(n int)) func(context.Context, Run) (string, error) {
	return func(ctx context.Context, r Run) (string, error) {
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
			case resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "" || n == most:
				return "", errors.New(resp.Status)
			}
			wait(n)
		}
	}
}

// If the machine stood still in the waits of a program, that may not wait at all, nobody knows whether it is hot.
func TestCalls_Busy(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	var m *measuring
	m = Calls{NoJitter: true, Within: 3 * time.Second, Client: askUpTo(5, func(n int) {
		if n > 2 { // as if nothing ran for this time
			time.Sleep(60 * time.Millisecond)
			m.clock.mu.Lock()
			m.clock.at = m.clock.at.Add(-60 * time.Millisecond)
			m.clock.mu.Unlock()
		}
	})}.prepare()
	measured, err := m.measure(t.Context())
	if err != nil && strings.Contains(err.Error(), "it did nothing for the check") {
		t.Skip(err)
	}
	want := "prove: the machine was too busy: it made waits longer, which may hide a fault of the kind hot; "
	if !errors.Is(err, ErrBusy) || !strings.HasPrefix(err.Error(), want) || len(measured.Findings) > 0 || len(measured.Rows) < 30 {
		t.Errorf("got %v, %+v, want %s", err, measured, want)
	}
}

// If others wait for a processor all the time, nobody knows whether the program or the machine has made waits differ.
func TestCalls_UnderPressure(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	m := Calls{Within: 3 * time.Second, Client: askUpTo(3, func(int) { time.Sleep(100*time.Millisecond + rand.N(400*time.Millisecond)) })}.prepare()
	begun := time.Now()
	m.pressure = func() time.Duration { return time.Since(begun) * 19 / 20 }
	_, err := m.measure(t.Context())
	if err != nil && (strings.Contains(err.Error(), "it did nothing for the check") || strings.Contains(err.Error(), "which may hide")) {
		t.Skip(err)
	}
	if want := "prove: the machine was too busy: others waited for a processor in 95 % of the time in which waits were measured, "; !errors.Is(err, ErrBusy) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The kernel's number grows.
func TestPressure(t *testing.T) {
	if _, err := os.ReadFile("/proc/pressure/cpu"); err != nil {
		t.Skip(err)
	}
	if before, now := pressure(), pressure(); before <= 0 || now < before {
		t.Errorf("got %v, then %v", before, now)
	}
}
