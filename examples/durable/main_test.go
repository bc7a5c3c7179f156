package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// The program starts itself as a worker, and so does the test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		main()
	}
	os.Exit(m.Run())
}

func TestTheShopAcceptsWhatItHas(t *testing.T) {
	s, order := &shop{}, httptest.NewRequest(http.MethodPost, "/order-1", nil)
	s.taken.Store("order-1", true)
	for range 100 {
		response := httptest.NewRecorder()
		if s.ServeHTTP(response, order); response.Code != http.StatusOK {
			t.Fatalf("got %d, want 200", response.Code)
		}
	}
	if s.done.Load() != 0 || s.repeated.Load() != 100 {
		t.Errorf("%d orders done, %d repeated, want 0 and 100", s.done.Load(), s.repeated.Load())
	}
}

func TestTheLedgerBalances(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	var out bytes.Buffer
	if err := run(t.Context(), 600, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"kill 1", "kill 2", "ledger   put 600 = done "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}
