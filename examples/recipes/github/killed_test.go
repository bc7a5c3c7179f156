package github_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/github"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the position after each value.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := github.Position{Page: list}
	e.Start(&at)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", args[0])
	}}}
	values := github.Follow[int](client, "token", at, time.Second, policy)
	return killed.Follow(ctx, e, 60, values, func(i github.Item[int]) (int, any) { return i.Value, i.After })
}

// The kills are amid pages, at their ends, and at the end of a page that is the last one by then.
func TestFollow_Killed(t *testing.T) {
	server := httptest.NewServer(pages(func() int { return 60 }))
	defer server.Close()
	killed.Check(t, "GitHub", 10, 5, 60, "0", server.Listener.Addr().String())
}
