// Package measured measures the calls of HTTP clients in Go, in virtual time, for MEASURED.md.
package measured

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/go-resty/resty/v2"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

type call = func(ctx context.Context) (string, error)

const url = "http://127.0.0.1:80/price"

// result is what a call returns of a response: any status but 200 is an error.
func result(resp *http.Response, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(text), err
}

// over is a caller that uses a transport.
func over(wrap func(base http.RoundTripper) http.RoundTripper) func(reconnecttest.Dial) call {
	return func(dial reconnecttest.Dial) call {
		client := &http.Client{Transport: wrap(&http.Transport{DialContext: dial})}
		return func(ctx context.Context) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return "", err
			}
			return result(client.Do(req))
		}
	}
}

var clients = []struct {
	name, module string
	caller       func(dial reconnecttest.Dial) call
}{
	{"go-retryablehttp", "github.com/hashicorp/go-retryablehttp", func(dial reconnecttest.Dial) call {
		c := retryablehttp.NewClient()
		c.HTTPClient.Transport, c.Logger = &http.Transport{DialContext: dial}, nil
		return func(ctx context.Context) (string, error) {
			req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return "", err
			}
			return result(c.Do(req))
		}
	}},
	{"failsafehttp", "github.com/failsafe-go/failsafe-go", over(func(base http.RoundTripper) http.RoundTripper {
		return failsafehttp.NewRoundTripper(base, failsafehttp.NewRetryPolicyBuilder().Build())
	})},
	{"resty, SetRetryCount(4)", "github.com/go-resty/resty/v2", func(dial reconnecttest.Dial) call {
		c := resty.NewWithClient(&http.Client{Transport: &http.Transport{DialContext: dial}}).SetRetryCount(4).
			AddRetryCondition(func(r *resty.Response, _ error) bool { return r.StatusCode() >= http.StatusInternalServerError })
		return func(ctx context.Context) (string, error) {
			r, err := c.R().SetContext(ctx).Get(url)
			if err == nil && r.StatusCode() != http.StatusOK {
				err = errors.New(r.Status())
			}
			return r.String(), err
		}
	}},
	{"retryhttp, retry.Default", "github.com/retrywhen/retrywhen", over(func(base http.RoundTripper) http.RoundTripper {
		return retryhttp.NewTransport(base, retry.Default)
	})},
}

// Each client has its row in MEASURED.md.
func TestMeasured(t *testing.T) {
	document, err := os.ReadFile("MEASURED.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			var kinds []string
			m := reconnecttest.CheckCalls(t, c.caller, reconnecttest.OnFinding(func(f prove.Finding) {
				t.Logf("%s: %s", f.Kind, f)
				kinds = append(kinds, string(f.Kind))
			}))
			for _, r := range m.Rows {
				t.Logf("%-30s %d %v %s %s", r.Way, r.Requests, r.Waits[:min(len(r.Waits), 6)], r.How, r.Error)
			}
			slices.Sort(kinds)
			row := fmt.Sprintf("| %s | %s | `%s` | %s |", c.name, version(t, c.module), m.Policy, strings.Join(append(kinds, "–")[:max(len(kinds), 1)], ", "))
			if !strings.Contains(string(document), row) {
				t.Errorf("MEASURED.md does not have the row\n%s\n%s, %q", row, m.Why, m.Or)
			}
		})
	}
}

// version returns the version of a module in go.mod; "" for this repository.
func version(t *testing.T, module string) string {
	t.Helper()
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\t"+module+" ")
	v, _, _ := strings.Cut(rest, "\n")
	if !ok {
		t.Fatalf("go.mod has no %s", module)
	}
	return strings.TrimSuffix(v, "v0.0.0")
}
