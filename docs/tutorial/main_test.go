package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestDocument(t *testing.T) {
	check.Document(t, "../tutorial.md", "../../internal/docs/tutorial_test.go", "main.go")
}

func TestRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(serve))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []int
	before := retries.Value()
	err := run(ctx, server.URL, func(_ context.Context, id int) error {
		if got = append(got, id); id == 4 {
			cancel()
		}
		return nil
	})
	if err != nil || !slices.Equal(got, []int{1, 2, 3, 4}) || retries.Value() != before+1 {
		t.Errorf("%v, %v, %d retries; want 1 to 4, nil at the end of ctx, one retry", got, err, retries.Value()-before)
	}
	full := errors.New("the disk is full")
	if err := run(t.Context(), server.URL, func(context.Context, int) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v, want the handler's error", err)
	}
}
