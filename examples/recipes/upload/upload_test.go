package upload_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/upload"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var policy = retry.New(backoff.Constant(time.Second), retry.Limit(4))

// Each attempt sends the whole file, wherever the one before it broke.
func TestPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const file = "all of the file"
		attempt := 0
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			defer r.Body.Close()
			switch attempt++; attempt {
			case 1: // broken amid
				_, _ = io.ReadFull(r.Body, make([]byte, 5))
				return nil, errors.New("connection reset")
			case 2: // broken after the request
				_, _ = io.ReadAll(r.Body)
				return nil, io.ErrUnexpectedEOF
			case 3:
				_, _ = io.ReadAll(r.Body)
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"7"}}, Body: http.NoBody}, nil
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || string(body) != file || r.ContentLength != int64(len(file)) || r.Method != http.MethodPut {
				t.Errorf("%s with %q of %d bytes, %v", r.Method, body, r.ContentLength, err)
			}
			return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody}, nil
		})}
		start := time.Now()
		err := upload.Put(t.Context(), client, "http://server/file", strings.NewReader(file), int64(len(file)), policy)
		if err != nil || attempt != 4 || time.Since(start) != 9*time.Second {
			t.Errorf("%d attempts in %v, %v", attempt, time.Since(start), err)
		}
	})
}

func TestPut_NoRetryCanHelp(t *testing.T) {
	attempts := 0
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		attempts++
		return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
	})}
	if err := upload.Put(t.Context(), client, "http://server/file", strings.NewReader("x"), 1, policy); err == nil || attempts != 1 {
		t.Errorf("%d attempts, %v", attempts, err)
	}
}
